// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Images as hipModuleLoad and cuModuleLoadData take them: fat binaries (fatbin.cc), and code objects by themselves.
#include <elf.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "objects/cuda_fatbin.h"
#include "objects/embedded.h"
#include "objects/ptx.h"
#include "objects/words.h"

namespace mneme::objects {
namespace {

Bytes view(const std::byte* image, size_t size) {
  // A size that is not known still must not wrap around the address space.
  return {image, std::min<uint64_t>(size, UINTPTR_MAX - reinterpret_cast<uintptr_t>(image))};
}

bool is_elf(Bytes bytes) { return starts_with(bytes, 0, std::string_view(ELFMAG, SELFMAG)); }

// PTX by itself: a text that a zero ends, or its size. Empty: it is none. Of what is none hardly more is read than
// tells that.
std::string_view ptx_at(Bytes bytes) {
  constexpr std::string_view kFirst = "./ \t\r\n";
  if (bytes.empty() || kFirst.find(static_cast<char>(bytes[0])) == std::string_view::npos) return {};
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  const std::string_view whole(text, ::strnlen(text, std::min<uint64_t>(bytes.size(), bundle::kMaxCodeSize)));
  return is_ptx(whole) ? whole : std::string_view();
}

// To the end of the section headers and of every section: linkers write the headers last, but need not.
size_t size_of_elf(Bytes elf, const std::string& where) {
  if (elf.size() < sizeof(Elf64_Ehdr) || std::to_integer<int>(elf[EI_CLASS]) != ELFCLASS64 ||
      std::to_integer<int>(elf[EI_DATA]) != ELFDATA2LSB) {
    throw Error::of("{} is not a 64-bit little-endian ELF file", where);
  }
  uint64_t table = word_at<uint64_t>(elf, offsetof(Elf64_Ehdr, e_shoff));
  uint64_t count = word_at<uint16_t>(elf, offsetof(Elf64_Ehdr, e_shnum));
  if (!table || !count || !fits(table, count * sizeof(Elf64_Shdr), elf.size())) {
    throw Error::of("{} has no section headers", where);
  }
  uint64_t end = table + count * sizeof(Elf64_Shdr);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t at = table + i * sizeof(Elf64_Shdr);
    if (word_at<uint32_t>(elf, at + offsetof(Elf64_Shdr, sh_type)) == SHT_NOBITS) continue;
    uint64_t offset = word_at<uint64_t>(elf, at + offsetof(Elf64_Shdr, sh_offset));
    uint64_t size = word_at<uint64_t>(elf, at + offsetof(Elf64_Shdr, sh_size));
    if (!fits(offset, size, elf.size())) throw Error::of("{} has a section outside it", where);
    end = std::max(end, offset + size);
  }
  return end;
}

}  // namespace

std::vector<DeviceCode> packed_code_of_image(const std::byte* image, size_t size, const std::string& where,
                                             std::vector<DeviceCode>* ptx) {
  Bytes bytes = view(image, size);
  if (std::string_view text = ptx_at(bytes); !text.empty()) {
    if (ptx) ptx->push_back({fmt::format("{}--{}", kCudaTriple, processor_of_ptx(text)), bytes_of(text), nullptr});
    return {};
  }
  if (!is_elf(bytes)) return packed_code_of_fatbin(image, size, where, ptx);
  if (size == SIZE_MAX) bytes = bytes.first(size_of_elf(bytes, where));
  constexpr uint16_t kAmdGpu = 224;  // EM_AMDGPU
  uint16_t machine = bytes.size() < sizeof(Elf64_Ehdr) ? 0 : word_at<uint16_t>(bytes, offsetof(Elf64_Ehdr, e_machine));
  if (machine == kAmdGpu) return {{"amdgcn-amd-amdhsa", bytes, nullptr}};
  if (machine == kCudaMachine) return {{std::string(kCudaTriple), bytes, nullptr}};
  throw Error::of("{} is not code for a GPU", where);
}

std::vector<DeviceCode> device_code_of_image(const std::byte* image, size_t size, const std::string& where) {
  std::vector<DeviceCode> code = packed_code_of_image(image, size, where, nullptr);
  for (DeviceCode& one : code) image_of(one);
  return code;
}

size_t size_of_image(const std::byte* image, const std::string& where) {
  Bytes bytes = view(image, SIZE_MAX);
  if (is_elf(bytes)) return size_of_elf(bytes, where);
  if (std::string_view text = ptx_at(bytes); !text.empty()) return text.size();
  return size_of_fatbin(bytes, where);
}

}  // namespace mneme::objects
