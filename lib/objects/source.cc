// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "objects/source.h"

#include <zstd.h>

#include "base/error.h"
#include "objects/embedded.h"
#include "objects/words.h"

namespace mneme::objects {
namespace {

constexpr int kLevel = 9;             // a tenth of a second for HIP's headers
constexpr size_t kRecordHeader = 16;  // the magic and the size
constexpr size_t kFileHeader = 16;    // the two sizes

}  // namespace

std::string pack_source(const std::vector<SourceFile>& files) {
  std::string plain;
  for (const SourceFile& file : files) {
    append_word(plain, file.name.size());
    append_word(plain, file.text.size());
    plain += file.name;
    plain += file.text;
    if (plain.size() > kMaxSourceSize) throw Error::of("the source has more than {} bytes", kMaxSourceSize);
  }
  std::string frame(ZSTD_compressBound(plain.size()), '\0');
  const size_t size = ZSTD_compress(frame.data(), frame.size(), plain.data(), plain.size(), kLevel);
  if (ZSTD_isError(size)) throw Error::of("the source cannot be compressed: {}", ZSTD_getErrorName(size));
  frame.resize(size);
  return frame;
}

std::vector<SourceFile> unpack_source(std::string_view frame, const std::string& where) {
  const auto size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > kMaxSourceSize) {
    throw Error::of("{} is damaged: its source is no zstd frame of at most {} bytes", where, kMaxSourceSize);
  }
  std::string plain(size, '\0');
  const size_t got = ZSTD_decompress(plain.data(), plain.size(), frame.data(), frame.size());
  if (ZSTD_isError(got) || got != size) throw Error::of("{} is damaged: its source does not decompress", where);
  std::vector<SourceFile> files;
  const Bytes bytes = bytes_of(plain);
  for (uint64_t at = 0; at < plain.size();) {
    if (plain.size() - at < kFileHeader) throw Error::of("{} is damaged: its source is cut short", where);
    const auto name = word_at<uint64_t>(bytes, at), text = word_at<uint64_t>(bytes, at + 8);
    const uint64_t room = plain.size() - at - kFileHeader;
    if (name > room || text > room - name) throw Error::of("{} is damaged: its source is cut short", where);
    at += kFileHeader;
    files.push_back({plain.substr(at, name), plain.substr(at + name, text)});
    if (name == 0 || files.back().name.find('\0') != std::string::npos) {
      throw Error::of("{} is damaged: its source has a file without a name", where);
    }
    at += name + text;
  }
  if (files.empty()) throw Error::of("{} is damaged: its source has no file", where);
  return files;
}

std::string write_source(std::string_view frame) {
  std::string out(kSourceMagic);
  append_word(out, frame.size());
  out += frame;
  out.resize(align_up(out.size(), kEmbeddedAlign), '\0');
  return out;
}

std::vector<Bytes> parse_sources(Bytes section, const std::string& where) {
  std::vector<Bytes> frames;
  for (uint64_t at = skip_zeros(section, 0); at < section.size(); at = skip_zeros(section, at)) {
    const bool is_record =
        at % kEmbeddedAlign == 0 && starts_with(section, at, kSourceMagic) && fits(at, kRecordHeader, section.size());
    const uint64_t size = is_record ? word_at<uint64_t>(section, at + kSourceMagic.size()) : 0;
    if (size == 0 || size > section.size() - at - kRecordHeader) {
      throw Error::of(
          "{} has embedded source that is malformed at offset {}; build it again with this version of mneme-inject",
          where, at);
    }
    frames.push_back(section.subspan(at + kRecordHeader, size));
    at += align_up(kRecordHeader + size, kEmbeddedAlign);
  }
  return frames;
}

}  // namespace mneme::objects
