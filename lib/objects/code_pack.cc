// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pack: u64 count, count × { u64 size of the name, u64 size of the code }, the names, the codes. Offload bundles:
// fatbin.cc.
#include "objects/code_pack.h"

#include <zstd.h>

#include "base/error.h"
#include "objects/words.h"

namespace mneme::objects {
namespace {

constexpr std::string_view kMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr uint64_t kCodeAlign = 4096;  // as clang's driver has it for HIP: code is loaded from where it lies
constexpr int kLevel = 19;

void append(std::string& out, uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(number >> shift);
}

// The first entry is the host's, as clang's driver makes it: there is nothing in it.
std::string offload_bundle(const std::map<std::string, std::string>& codes) {
  std::map<std::string, std::string> entries = {{"host-x86_64-unknown-linux--", ""}};
  for (const auto& [processor, code] : codes) entries.emplace("hipv4-amdgcn-amd-amdhsa--" + processor, code);
  uint64_t header = kMagic.size() + sizeof(uint64_t);
  for (const auto& [triple, code] : entries) header += 3 * sizeof(uint64_t) + triple.size();
  std::string out(kMagic), body;
  append(out, entries.size());
  const uint64_t begin = align_up(header, kCodeAlign);
  for (const auto& [triple, code] : entries) {
    append(out, begin + body.size());
    append(out, code.size());
    append(out, triple.size());
    out += triple;
    body += code;
    body.resize(align_up(body.size(), kCodeAlign), '\0');
  }
  out.resize(begin, '\0');
  return out + body;
}

std::map<std::string, std::string> codes_of(Bytes pack) {
  const uint64_t count = word_at<uint64_t>(pack, 0);
  uint64_t at = sizeof(uint64_t) * (1 + 2 * count);
  std::map<std::string, std::string> codes;
  std::vector<std::string> names;
  for (uint64_t i = 0; i < count; i++) {
    const auto size = word_at<uint64_t>(pack, sizeof(uint64_t) * (1 + 2 * i));
    names.emplace_back(text_of(pack.subspan(at, size)));
    at += size;
  }
  for (uint64_t i = 0; i < count; i++) {
    const auto size = word_at<uint64_t>(pack, sizeof(uint64_t) * (2 + 2 * i));
    codes.emplace(names[i], text_of(pack.subspan(at, size)));
    at += size;
  }
  return codes;
}

}  // namespace

std::string pack_code(const std::map<std::string, std::string>& codes) {
  std::string pack;
  append(pack, codes.size());
  for (const auto& [name, code] : codes) {
    append(pack, name.size());
    append(pack, code.size());
  }
  for (const auto& [name, code] : codes) pack += name;
  for (const auto& [name, code] : codes) pack += code;
  return pack;
}

Bytes packed_code(Bytes pack, std::string_view kernel) {
  const uint64_t count = word_at<uint64_t>(pack, 0);
  uint64_t name = sizeof(uint64_t) * (1 + 2 * count), code = name;
  for (uint64_t i = 0; i < count; i++) code += word_at<uint64_t>(pack, sizeof(uint64_t) * (1 + 2 * i));
  for (uint64_t i = 0; i < count; i++) {
    const auto name_size = word_at<uint64_t>(pack, sizeof(uint64_t) * (1 + 2 * i));
    const auto code_size = word_at<uint64_t>(pack, sizeof(uint64_t) * (2 + 2 * i));
    if (text_of(pack.subspan(name, name_size)) == kernel) return pack.subspan(code, code_size);
    name += name_size;
    code += code_size;
  }
  throw Error::of("there is no kernel '{}' among Mneme's own", kernel);
}

std::string bundle_packs(const std::map<std::string, std::string>& packs) {
  std::map<std::string, std::map<std::string, std::string>> by_kernel;
  for (const auto& [processor, pack] : packs) {
    for (auto& [kernel, code] : codes_of(bytes_of(pack))) by_kernel[kernel][processor] = std::move(code);
  }
  std::map<std::string, std::string> bundles;
  for (const auto& [kernel, codes] : by_kernel) {
    if (codes.size() != packs.size()) throw Error::of("not all packs have the kernel '{}'", kernel);
    bundles.emplace(kernel, offload_bundle(codes));
  }
  const std::string pack = pack_code(bundles);
  std::string out(ZSTD_compressBound(pack.size()), '\0');
  const size_t size = ZSTD_compress(out.data(), out.size(), pack.data(), pack.size(), kLevel);
  if (ZSTD_isError(size)) throw Error::of("cannot compress kernels: {}", ZSTD_getErrorName(size));
  out.resize(size);
  return out;
}

std::string unpacked(Bytes bundled) {
  std::string pack(ZSTD_getFrameContentSize(bundled.data(), bundled.size()), '\0');
  const size_t size = ZSTD_decompress(pack.data(), pack.size(), bundled.data(), bundled.size());
  if (size != pack.size()) throw Error("Mneme's own kernels cannot be decompressed");
  return pack;
}

}  // namespace mneme::objects
