// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "objects/cubin.h"

#include <elf.h>

#include <optional>

#include "base/error.h"
#include "objects/embedded.h"
#include "objects/words.h"

namespace mneme::objects {
namespace {

// Section .nv.info: u8 form, u8 attribute, u16 value or, of form kSized, the size of the value that follows.
constexpr uint8_t kSized = 4;
constexpr uint8_t kFrame = 0x11, kRegisters = 0x2f;  // u32 index of a function's symbol, u32 number

constexpr uint32_t kBanks = 32;

std::optional<uint32_t> index_of_symbol(Bytes cubin, const std::string& name, const std::string& where) {
  Bytes symbols = elf_section(cubin, ".symtab", where), names = elf_section(cubin, ".strtab", where);
  for (uint64_t at = 0; fits(at, sizeof(Elf64_Sym), symbols.size()); at += sizeof(Elf64_Sym)) {
    uint64_t start = word_at<uint32_t>(symbols, at + offsetof(Elf64_Sym, st_name));
    if (ELF64_ST_TYPE(word_at<uint8_t>(symbols, at + offsetof(Elf64_Sym, st_info))) != STT_FUNC) continue;
    if (starts_with(names, start, name + '\0')) return static_cast<uint32_t>(at / sizeof(Elf64_Sym));
  }
  return std::nullopt;
}

uint32_t attribute(Bytes info, uint8_t wanted, uint32_t symbol, const std::string& where) {
  for (uint64_t at = 0; at < info.size();) {
    if (!fits(at, 4, info.size())) throw Error::of("{} is a malformed cubin: an attribute is cut short", where);
    auto form = word_at<uint8_t>(info, at), name = word_at<uint8_t>(info, at + 1);
    uint64_t size = form == kSized ? word_at<uint16_t>(info, at + 2) : 0;
    at += 4;
    if (!fits(at, size, info.size())) throw Error::of("{} is a malformed cubin: an attribute is cut short", where);
    if (name == wanted && size == 8 && word_at<uint32_t>(info, at) == symbol) return word_at<uint32_t>(info, at + 4);
    at += size;
  }
  return 0;
}

}  // namespace

bundle::Resources resources_in_cubin(Bytes cubin, const std::string& kernel, const std::string& where) {
  std::optional<uint32_t> symbol = index_of_symbol(cubin, kernel, where);
  if (!symbol) throw Error::of("{} has no kernel '{}'", where, kernel);
  Bytes info = elf_section(cubin, ".nv.info", where);
  bundle::Resources resources;
  resources.registers = attribute(info, kRegisters, *symbol, where);
  resources.stack = attribute(info, kFrame, *symbol, where);
  for (uint32_t bank = 0; bank < kBanks; ++bank) {
    std::string shared = fmt::format(".nv.constant{}", bank), own = fmt::format("{}.{}", shared, kernel);
    uint64_t bytes = elf_section(cubin, shared, where).size() + elf_section(cubin, own, where).size();
    if (bytes > 0) resources.constants.push_back({bank, bytes});
  }
  return resources;
}

std::optional<ElfVariable> cubin_variable(Bytes cubin, std::string_view name, const std::string& where) {
  Bytes symbols = elf_section(cubin, ".symtab", where), names = elf_section(cubin, ".strtab", where);
  for (uint64_t at = 0; fits(at, sizeof(Elf64_Sym), symbols.size()); at += sizeof(Elf64_Sym)) {
    uint64_t start = word_at<uint32_t>(symbols, at + offsetof(Elf64_Sym, st_name));
    if (!starts_with(names, start, std::string(name) + '\0')) continue;
    auto info = word_at<uint8_t>(symbols, at + offsetof(Elf64_Sym, st_info));
    auto section = word_at<uint16_t>(symbols, at + offsetof(Elf64_Sym, st_shndx));
    if (ELF64_ST_TYPE(info) != STT_OBJECT || section == SHN_UNDEF) return std::nullopt;
    auto value = word_at<uint64_t>(symbols, at + offsetof(Elf64_Sym, st_value));
    auto size = word_at<uint64_t>(symbols, at + offsetof(Elf64_Sym, st_size));
    Bytes contents = elf_section_at(cubin, section, where);
    return ElfVariable{size, fits(value, size, contents.size()) ? contents.subspan(value, size) : Bytes()};
  }
  return std::nullopt;
}

}  // namespace mneme::objects
