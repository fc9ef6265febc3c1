// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A minimal ELF image for tests: a header, some sections, their names.
#pragma once
#include <elf.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace mneme::objects {

inline std::string build_elf(const std::vector<std::pair<std::string, std::string>>& sections,
                             uint16_t machine = EM_NONE) {
  std::string names(1, '\0'), body;
  std::vector<Elf64_Shdr> headers(1);
  uint64_t at = sizeof(Elf64_Ehdr);
  auto add = [&](const std::string& name, const std::string& contents, bool is_names) {
    Elf64_Shdr header{};
    header.sh_name = static_cast<Elf64_Word>(names.size());
    names += name + '\0';
    const std::string& bytes = is_names ? names : contents;
    header.sh_type = is_names ? SHT_STRTAB : SHT_PROGBITS;
    header.sh_offset = at;
    header.sh_size = bytes.size();
    body += bytes;
    at += bytes.size();
    headers.push_back(header);
  };
  for (const auto& [name, contents] : sections) add(name, contents, false);
  add(".shstrtab", "", true);

  Elf64_Ehdr elf{};
  std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
  elf.e_ident[EI_CLASS] = ELFCLASS64;
  elf.e_ident[EI_DATA] = ELFDATA2LSB;
  elf.e_machine = machine;
  elf.e_shoff = at;
  elf.e_shentsize = sizeof(Elf64_Shdr);
  elf.e_shnum = static_cast<Elf64_Half>(headers.size());
  elf.e_shstrndx = static_cast<Elf64_Half>(headers.size() - 1);
  std::string image(reinterpret_cast<const char*>(&elf), sizeof elf);
  image += body;
  image.append(reinterpret_cast<const char*>(headers.data()), headers.size() * sizeof(Elf64_Shdr));
  return image;
}

// Overwrites the number at `offset` of an image.
template <typename Number>
void poke(std::string& image, size_t offset, Number value) {
  std::memcpy(image.data() + offset, &value, sizeof value);
}

}  // namespace mneme::objects
