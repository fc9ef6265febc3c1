// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <elf.h>

#include <cstring>

#include "base/error.h"
#include "objects/embedded.h"
#include "objects/words.h"

namespace mneme::objects {
namespace {

template <typename Structure>
Structure read(const std::string& image, uint64_t at) {
  Structure structure;
  std::memcpy(&structure, image.data() + at, sizeof structure);
  return structure;
}

template <typename Structure>
void write(std::string& image, uint64_t at, const Structure& structure) {
  std::memcpy(image.data() + at, &structure, sizeof structure);
}

// Where the bytes came to lie.
uint64_t append(std::string& image, std::string_view bytes) {
  image.resize(align_up(image.size(), kEmbeddedAlign), '\0');
  uint64_t at = image.size();
  image += bytes;
  return at;
}

}  // namespace

std::string with_section(Bytes elf, std::string_view name, std::string_view contents, const std::string& where) {
  elf_section(elf, name, where);  // checks the header and the table of sections
  std::string image(text_of(elf));
  auto header = read<Elf64_Ehdr>(image, 0);
  bool ordinary = header.e_shoff != 0 && header.e_shnum != 0 && header.e_shnum < SHN_LORESERVE - 1 &&
                  header.e_shstrndx != SHN_UNDEF && header.e_shstrndx < header.e_shnum;
  if (!ordinary) throw Error::of("a section cannot be added to {}: it has none, or too many", where);

  // The table of sections and that of their names are written anew behind what is there; the old ones are left.
  std::string table = image.substr(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
  uint64_t names_at = uint64_t{header.e_shstrndx} * sizeof(Elf64_Shdr);
  auto names = read<Elf64_Shdr>(table, names_at);
  Elf64_Shdr added{};
  added.sh_name = static_cast<Elf64_Word>(names.sh_size);
  added.sh_type = SHT_PROGBITS;
  added.sh_addralign = kEmbeddedAlign;
  added.sh_offset = append(image, contents);
  added.sh_size = contents.size();
  std::string all_names = image.substr(names.sh_offset, names.sh_size) + std::string(name) + '\0';
  names.sh_offset = append(image, all_names);
  names.sh_size = all_names.size();
  write(table, names_at, names);
  table.append(reinterpret_cast<const char*>(&added), sizeof added);
  header.e_shoff = append(image, table);
  ++header.e_shnum;
  write(image, 0, header);
  return image;
}

}  // namespace mneme::objects
