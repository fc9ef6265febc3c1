// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <elf.h>

#include "objects/cubin.h"
#include "objects/cuda_fatbin.h"
#include "objects/embedded.h"
#include "objects/words.h"

namespace mneme::objects {
namespace {

// What the file holds of [address, address + size); empty: not all of it.
Bytes loaded_bytes(Bytes elf, uint64_t address, uint64_t size) {
  uint64_t table = word_at<uint64_t>(elf, offsetof(Elf64_Ehdr, e_phoff));
  uint64_t count = word_at<uint16_t>(elf, offsetof(Elf64_Ehdr, e_phnum));
  if (!fits(table, count * sizeof(Elf64_Phdr), elf.size())) return {};
  for (uint64_t at = table; at < table + count * sizeof(Elf64_Phdr); at += sizeof(Elf64_Phdr)) {
    if (word_at<uint32_t>(elf, at + offsetof(Elf64_Phdr, p_type)) != PT_LOAD) continue;
    uint64_t begin = word_at<uint64_t>(elf, at + offsetof(Elf64_Phdr, p_vaddr));
    uint64_t filed = word_at<uint64_t>(elf, at + offsetof(Elf64_Phdr, p_filesz));
    uint64_t offset = word_at<uint64_t>(elf, at + offsetof(Elf64_Phdr, p_offset));
    if (address < begin || !fits(address - begin, size, filed) || !fits(offset, filed, elf.size())) continue;
    return elf.subspan(offset + (address - begin), size);
  }
  return {};
}

// Of a table of symbols, the first of that name; empty: none is there.
Bytes find_symbol(Bytes symbols, Bytes names, std::string_view name) {
  for (uint64_t at = 0; fits(at, sizeof(Elf64_Sym), symbols.size()); at += sizeof(Elf64_Sym)) {
    uint64_t start = word_at<uint32_t>(symbols, at + offsetof(Elf64_Sym, st_name));
    if (!fits(start, name.size() + 1, names.size())) continue;
    if (text_of(names).substr(start, name.size() + 1) != std::string(name) + '\0') continue;
    if (word_at<uint16_t>(symbols, at + offsetof(Elf64_Sym, st_shndx)) == SHN_UNDEF) return {};
    return symbols.subspan(at, sizeof(Elf64_Sym));
  }
  return {};
}

}  // namespace

std::optional<ElfVariable> elf_variable(Bytes elf, std::string_view name, const std::string& where) {
  Bytes machine = elf.size() < sizeof(Elf64_Ehdr) ? Bytes() : elf.subspan(offsetof(Elf64_Ehdr, e_machine));
  if (!machine.empty() && word_at<uint16_t>(machine, 0) == kCudaMachine) return cubin_variable(elf, name, where);
  Bytes symbol = find_symbol(elf_section(elf, ".dynsym", where), elf_section(elf, ".dynstr", where), name);
  if (symbol.empty()) return std::nullopt;
  auto info = word_at<uint8_t>(symbol, offsetof(Elf64_Sym, st_info));
  if (ELF64_ST_TYPE(info) != STT_OBJECT) return std::nullopt;
  auto size = word_at<uint64_t>(symbol, offsetof(Elf64_Sym, st_size));
  return ElfVariable{size, loaded_bytes(elf, word_at<uint64_t>(symbol, offsetof(Elf64_Sym, st_value)), size)};
}

bool elf_may_have(Bytes elf, std::string_view name, const std::string& where) {
  Bytes symbols = elf_section(elf, ".symtab", where);
  return symbols.empty() || !find_symbol(symbols, elf_section(elf, ".strtab", where), name).empty();
}

}  // namespace mneme::objects
