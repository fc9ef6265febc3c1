// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "objects/embedded.h"

#include "base/error.h"
#include "objects/words.h"

namespace mneme::objects {
namespace {

constexpr size_t kHeaderSize = 24;  // the magic and the two sizes

}  // namespace

std::string write_embedded(std::string_view json, Bytes bitcode) {
  std::string out(kEmbeddedMagic);
  append_word(out, json.size());
  append_word(out, bitcode.size());
  out += json;
  out += text_of(bitcode);
  out.resize(align_up(out.size(), kEmbeddedAlign), '\0');
  return out;
}

std::vector<EmbeddedKernel> parse_embedded(Bytes section, const std::string& where) {
  std::vector<EmbeddedKernel> kernels;
  for (uint64_t at = skip_zeros(section, 0); at < section.size(); at = skip_zeros(section, at)) {
    if (at % kEmbeddedAlign != 0 || !starts_with(section, at, kEmbeddedMagic) ||
        !fits(at, kHeaderSize, section.size())) {
      throw Error::of(
          "{} has embedded kernel IR that is malformed at offset {}: no '{}' header; build it again with "
          "this version of mneme-inject",
          where, at, kEmbeddedMagic);
    }
    uint64_t json_size = word_at<uint64_t>(section, at + 8);
    uint64_t bitcode_size = word_at<uint64_t>(section, at + 16);
    uint64_t room = section.size() - at - kHeaderSize;
    if (json_size > room || bitcode_size > room - json_size || json_size > bundle::kMaxJsonSize ||
        bitcode_size > bundle::kMaxCodeSize) {
      throw Error::of(
          "{} has embedded kernel IR that is malformed at offset {}: its sizes, {} and {} bytes, do not fit", where, at,
          json_size, bitcode_size);
    }
    EmbeddedKernel& kernel = kernels.emplace_back();
    kernel.json = text_of(section.subspan(at + kHeaderSize, json_size));
    kernel.bitcode = section.subspan(at + kHeaderSize + json_size, bitcode_size);
    kernel.info = bundle::parse_kernel(kernel.json, where);
    if (digest_of(kernel.bitcode) != kernel.info.bitcode) {
      throw Error::of("{} has embedded IR for kernel '{}' whose digest does not match: the file is damaged", where,
                      kernel.info.demangled);
    }
    at += align_up(kHeaderSize + json_size + bitcode_size, kEmbeddedAlign);
  }
  return kernels;
}

}  // namespace mneme::objects
