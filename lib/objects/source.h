// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The source of kernels: the file that was compiled and all headers that it includes, as one zstd frame. The frame
// holds one file after another,
//   u64 size of the name  u64 size of the text (both little-endian)  name  text
// the compiled file first. Names are as the compiler opened them, absolute but for folders that -ffile-prefix-map makes
// relative.
//
// mneme-inject embeds it in a device code object, once for each translation unit: section ".mneme.source" holds, one
// after another, each aligned to 16 bytes and padded with zeros,
//   "MNEMESR1"  u64 size of the frame  frame
// A kernel names it by the frame's digest (KernelInfo::source_text).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"

namespace mneme::objects {

inline constexpr std::string_view kSourceMagic = "MNEMESR1";
inline constexpr std::string_view kSourceSection = ".mneme.source";
inline constexpr uint64_t kMaxSourceSize = 256 << 20;  // bytes that a frame holds

struct SourceFile {
  std::string name;
  std::string text;
  bool operator==(const SourceFile&) const = default;
};

// The frame. Throws Error where the files have more than kMaxSourceSize bytes.
std::string pack_source(const std::vector<SourceFile>& files);
// At least one file. Throws Error, naming `where`, on what is no such frame.
std::vector<SourceFile> unpack_source(std::string_view frame, const std::string& where);

// The record of a frame, padded.
std::string write_source(std::string_view frame);
// The frames in a section's bytes. Throws Error on anything malformed.
std::vector<Bytes> parse_sources(Bytes section, const std::string& where);

}  // namespace mneme::objects
