// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A CUDA fat binary for tests.
#pragma once
#include <zstd.h>

#include <cstdint>
#include <string>
#include <vector>

namespace mneme::objects {

inline constexpr uint16_t kPtx = 1, kCubin = 2;
inline constexpr uint64_t kPlain = 0x11, kLz4 = 0x2011, kZstd = 0x8011, kArchitectureSpecific = 0x100011;
inline constexpr size_t kFirstEntry = 16;

struct FatbinEntry {
  uint16_t kind = kCubin;
  uint32_t processor = 90;
  uint64_t flags = kPlain;
  std::string contents;
  uint64_t uncompressed = 0;  // not 0: contents are compressed
};

template <typename Number>
void append(std::string& out, Number value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

inline std::string fatbin(const std::vector<FatbinEntry>& entries) {
  std::string body;
  for (const FatbinEntry& entry : entries) {
    std::string contents = entry.contents;
    contents.resize((contents.size() + 7) / 8 * 8, '\0');
    append(body, entry.kind);
    append(body, uint16_t{0x101});
    append(body, uint32_t{64});
    append(body, uint64_t{contents.size()});
    append(body, static_cast<uint32_t>(entry.uncompressed ? entry.contents.size() : 0));
    append(body, uint32_t{0});
    append(body, uint16_t{8});
    append(body, uint16_t{1});
    append(body, entry.processor);
    append(body, uint64_t{0});
    append(body, entry.flags);
    append(body, uint64_t{0});
    append(body, entry.uncompressed);
    body += contents;
  }
  std::string out;
  append(out, uint32_t{0xBA55ED50});
  append(out, uint16_t{1});
  append(out, uint16_t{16});
  append(out, uint64_t{body.size()});
  return out + body;
}

inline FatbinEntry compressed(const std::string& plain) {
  std::string frame(ZSTD_compressBound(plain.size()), '\0');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), plain.data(), plain.size(), 3));
  return {.flags = kZstd, .contents = frame, .uncompressed = plain.size()};
}

}  // namespace mneme::objects
