// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "objects/cuda_fatbin.h"

#include <zstd.h>

#include <cstring>

#include "base/error.h"
#include "objects/words.h"

namespace mneme::objects {
namespace {

constexpr std::string_view kMagic = "\x50\xED\x55\xBA";
constexpr uint64_t kHeader = 16;                   // bytes, at least
constexpr uint64_t kEntryHeader = 64;              // likewise
constexpr uint64_t kMaxUncompressed = 1ull << 32;  // bytes of one entry
constexpr uint16_t kPtx = 1, kCubin = 2;
// Flags. What is for a family of processors has the second one, too.
constexpr uint64_t kLz4 = 0x2000, kZstd = 0x8000, kArchitectureSpecific = 0x100000, kFamilySpecific = 0x1000000;

Error malformed(const std::string& where, const char* why) {
  return Error::of("{} has a malformed CUDA fat binary: {}", where, why);
}

struct Entry {
  uint16_t kind = 0;
  uint32_t processor = 0;  // 90
  uint64_t flags = 0;
  uint64_t uncompressed = 0;  // bytes
  Bytes contents;             // as stored
  bool compressed = false;
  uint64_t extent = 0;  // with its header
};

// The entry that `bytes` starts with.
Entry entry_at(Bytes bytes, const std::string& where) {
  if (bytes.size() < kEntryHeader) throw malformed(where, "it ends in an entry's header");
  Entry entry;
  entry.kind = word_at<uint16_t>(bytes, 0);
  uint64_t header = word_at<uint32_t>(bytes, 4), size = word_at<uint64_t>(bytes, 8);
  uint64_t compressed = word_at<uint32_t>(bytes, 16);
  entry.processor = word_at<uint32_t>(bytes, 28);
  entry.flags = word_at<uint64_t>(bytes, 40);
  entry.uncompressed = word_at<uint64_t>(bytes, 56);
  if (header < kEntryHeader || !fits(header, size, bytes.size())) throw malformed(where, "an entry lies outside it");
  if (compressed > size) throw malformed(where, "an entry's sizes do not fit");
  entry.compressed = compressed != 0;
  entry.contents = bytes.subspan(header, compressed ? compressed : size);
  entry.extent = header + size;
  return entry;
}

// Of an entry that is a zstd frame.
std::shared_ptr<std::string> decompressed(const Entry& entry, const std::string& where) {
  // The frame's own idea of its contents bounds the allocation; zstd never writes beyond it.
  if (entry.uncompressed > kMaxUncompressed ||
      ZSTD_getFrameContentSize(entry.contents.data(), entry.contents.size()) != entry.uncompressed) {
    throw malformed(where, "a compressed entry lies about its size");
  }
  auto contents = std::make_shared<std::string>(entry.uncompressed, '\0');
  size_t written = ZSTD_decompress(contents->data(), contents->size(), entry.contents.data(), entry.contents.size());
  if (ZSTD_isError(written) || written != entry.uncompressed) throw malformed(where, "a compressed entry is damaged");
  return contents;
}

// Of an entry that is one block of LZ4, as toolkits before CUDA 13 make them: sequences of
//   u8 count of literals (upper half) and of copied bytes less 4 (lower half)  more of the first count, if that is 15
//   literals  u16 distance  more of the second count, if that is 15
// of which the last ends behind its literals. A count goes on in bytes that are added, up to one below 255.
class Lz4 {
 public:
  Lz4(Bytes in, std::string& out, const std::string& where) : in_(in), out_(out), where_(where) {}

  void decompress() {
    for (size_t made = 0;;) {
      const uint8_t counts = byte();
      const size_t literals = count(counts >> 4);
      if (!fits(at_, literals, in_.size()) || !fits(made, literals, out_.size())) throw damaged();
      std::memcpy(out_.data() + made, in_.data() + at_, literals);
      at_ += literals;
      made += literals;
      if (made == out_.size()) return;  // what follows pads the entry
      const size_t distance = byte() | size_t{byte()} << 8, copied = count(counts & 15) + 4;
      if (distance == 0 || distance > made || !fits(made, copied, out_.size())) throw damaged();
      for (const size_t end = made + copied; made < end; ++made) out_[made] = out_[made - distance];
    }
  }

 private:
  Error damaged() const { return malformed(where_, "a compressed entry is damaged"); }
  uint8_t byte() {
    if (at_ == in_.size()) throw damaged();
    return std::to_integer<uint8_t>(in_[at_++]);
  }
  size_t count(size_t first) {
    if (first < 15) return first;
    for (uint8_t more = 255; more == 255; first += more) more = byte();
    return first;
  }

  Bytes in_;
  std::string& out_;
  const std::string& where_;
  size_t at_ = 0;
};

std::shared_ptr<std::string> decompressed_lz4(const Entry& entry, const std::string& where) {
  constexpr uint64_t kMostRatio = 255;
  if (entry.uncompressed > kMaxUncompressed || entry.uncompressed / kMostRatio > entry.contents.size()) {
    throw malformed(where, "a compressed entry lies about its size");
  }
  auto contents = std::make_shared<std::string>(entry.uncompressed, '\0');
  Lz4(entry.contents, *contents, where).decompress();
  return contents;
}

// Texts are padded with zeros.
size_t without_end(std::string_view text) { return text.find_last_not_of('\0') + 1; }

DeviceCode code_of(const Entry& entry, const std::string& where) {
  const char* kind = entry.flags & kFamilySpecific ? "f" : entry.flags & kArchitectureSpecific ? "a" : "";
  std::string target = fmt::format("{}--sm_{}{}", kCudaTriple, entry.processor, kind);
  const bool text = entry.kind == kPtx;
  if (!entry.compressed) {
    return {std::move(target), text ? entry.contents.first(without_end(text_of(entry.contents))) : entry.contents,
            nullptr};
  }
  return {std::move(target), {}, nullptr, [entry, where, text] {
            auto contents = entry.flags & kZstd ? decompressed(entry, where) : decompressed_lz4(entry, where);
            if (text) contents->resize(without_end(*contents));
            return contents;
          }};
}

}  // namespace

bool is_cuda_fatbin(Bytes bytes) { return starts_with(bytes, 0, kMagic); }

uint64_t size_of_cuda_fatbin(Bytes bytes, const std::string& where) {
  if (bytes.size() < kHeader) throw malformed(where, "it ends in its header");
  uint64_t header = word_at<uint16_t>(bytes, 6), entries = word_at<uint64_t>(bytes, 8);
  if (header < kHeader || !fits(header, entries, bytes.size())) throw malformed(where, "its entries lie outside it");
  return header + entries;
}

uint64_t read_cuda_fatbin(Bytes bytes, const std::string& where, std::vector<DeviceCode>& out, std::string& trouble,
                          std::vector<DeviceCode>* ptx) {
  uint64_t end = size_of_cuda_fatbin(bytes, where);
  for (uint64_t at = word_at<uint16_t>(bytes, 6); at < end;) {
    Entry entry = entry_at(bytes.subspan(at, end - at), where);
    at += entry.extent;
    if ((entry.kind != kCubin && entry.kind != kPtx) || entry.contents.empty()) continue;
    std::vector<DeviceCode>* of_kind = entry.kind == kCubin ? &out : ptx;
    if (!of_kind) continue;
    if (!entry.compressed || entry.flags & (kZstd | kLz4)) {
      of_kind->push_back(code_of(entry, where));
    } else {
      trouble = where +
                " has device code compressed in a way that is not understood (neither zstd nor LZ4); build it without "
                "-Xcuda-fatbinary --compress-all";
    }
  }
  return end;
}

}  // namespace mneme::objects
