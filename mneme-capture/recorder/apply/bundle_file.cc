// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/apply/bundle_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <charconv>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "memory/own_region.h"

namespace mneme::record {
namespace {

constexpr size_t kTarBlock = 512;

struct Header {
  char name[100];
  char mode[8], owner[8], group[8];
  char size[12];  // octal
  char time[12], checksum[8];
  char type;
  char link[100];
  char magic[6];  // "ustar"
  char rest[249];
};
static_assert(sizeof(Header) == kTarBlock);

std::string_view text_in(const char* field, size_t size) { return {field, ::strnlen(field, size)}; }

bool is_file(const Header& header) { return header.type == '0' || header.type == '\0'; }

}  // namespace

BundleFile::BundleFile(const std::string& path) : path_(path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about{};
  if (!file || ::fstat(file.get(), &about) != 0) throw system_error("cannot open '" + path + "'");
  const auto size = static_cast<size_t>(about.st_size);
  if (!S_ISREG(about.st_mode) || size < kTarBlock) throw Error::of("'{}' is no bundle", path);
  // Not the file itself: another process may write to it.
  void* address = memory::map_own(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
  if (address == MAP_FAILED) throw system_error("there is no memory for '" + path + "'");
  bytes_ = {static_cast<const std::byte*>(address), size};
  try {
    const std::span<std::byte> memory(static_cast<std::byte*>(address), size);
    if (!read_exactly(file.get(), memory, "'" + path + "'")) throw Error::of("'{}' is no bundle", path);
    find_members();
  } catch (const Error&) {
    ::munmap(address, size);
    throw;
  }
}

BundleFile::~BundleFile() { ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size()); }

void BundleFile::find_members() {
  size_t at = 0;
  while (bytes_.size() - at >= kTarBlock) {
    const auto& header = *reinterpret_cast<const Header*>(bytes_.data() + at);
    if (header.name[0] == '\0') return;  // the end mark
    at += kTarBlock;
    const std::string_view digits = text_in(header.size, sizeof header.size);
    uint64_t size = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size, 8);
    const bool whole = std::memcmp(header.magic, "ustar", 5) == 0 && error == std::errc() && size <= bytes_.size() - at;
    if (!whole) break;
    if (is_file(header)) members_[text_in(header.name, sizeof header.name)] = bytes_.subspan(at, size);
    at += std::min((size + kTarBlock - 1) / kTarBlock * kTarBlock, bytes_.size() - at);
  }
  throw Error::of("'{}' is damaged, or no bundle", path_);
}

Bytes BundleFile::member(const std::string& name) const {
  auto found = members_.find(name);
  if (found == members_.end()) throw Error::of("'{}' lacks {}", path_, name);
  return found->second;
}

}  // namespace mneme::record
