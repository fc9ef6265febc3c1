// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "on_demand.h"

#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "bundle/archive/reader.h"
#include "bundle/archive/writer.h"

namespace mneme::restore {
namespace {

constexpr int kLevel = 9;
constexpr uint64_t kMostBytes = 1 << 30;

void add(bundle::ArchiveWriter& archive, const std::string& name, std::string_view contents) {
  archive.begin(name, contents.size());
  archive.append(bytes_of(contents));
}

std::string contents_of(bundle::ArchiveReader& archive) {
  std::string contents;
  while (std::optional<bundle::Piece> piece = archive.piece()) contents += text_of(piece->bytes);
  return contents;
}

}  // namespace

std::string pack(const std::vector<bundle::VariantMember>& variants) {
  if (variants.empty()) return "";
  Fd file = memory_file("on-demand");
  bundle::ArchiveWriter archive(file.get(), "the code on demand");
  for (const bundle::VariantMember& variant : variants) {
    const bundle::VariantInfo& info = variant.info;
    add(archive, bundle::variant_json_name(info.kernel, info.id), bundle::write(info));
    add(archive, bundle::variant_code_name(info.kernel, info.id, info.code), variant.code);
  }
  archive.finish();
  ::lseek(file.get(), 0, SEEK_SET);
  std::string bytes = read_all(file.get(), "the code on demand");
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  size_t size = ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), kLevel);
  if (ZSTD_isError(size)) throw Error::of("cannot compress the code on demand: {}", ZSTD_getErrorName(size));
  packed.resize(size);
  return packed;
}

std::vector<bundle::VariantMember> unpack(std::string_view packed, const std::string& name) {
  std::vector<bundle::VariantMember> variants;
  if (packed.empty()) return variants;
  unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  std::string bytes(size <= kMostBytes ? size : 0, '\0');
  if (ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size()) != size) {
    throw Error::of("the code on demand in {} is damaged: make the program again", name);
  }
  Fd file = memory_file("on-demand", bytes_of(bytes));
  bundle::ArchiveReader archive(file.get(), "the code on demand in " + name);
  try {
    while (std::optional<bundle::ArchiveReader::Member> json = archive.next()) {
      bundle::VariantMember variant{bundle::parse_variant(contents_of(archive), json->name), {}};
      const bundle::VariantInfo& info = variant.info;
      std::optional<bundle::ArchiveReader::Member> code = archive.next();
      if (code) variant.code = contents_of(archive);
      if (!code || code->name != bundle::variant_code_name(info.kernel, info.id, info.code) ||
          digest_of(variant.code) != info.code_digest) {
        throw Error::of("{} in {} lacks its code: make the program again", json->name, name);
      }
      variants.push_back(std::move(variant));
    }
  } catch (const bundle::Truncation& cut) {
    throw Error::of("the code on demand in {} was cut short {}: make the program again", name, cut.where);
  }
  return variants;
}

}  // namespace mneme::restore
