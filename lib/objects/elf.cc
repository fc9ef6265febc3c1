// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <elf.h>

#include <algorithm>

#include "base/error.h"
#include "objects/embedded.h"
#include "objects/words.h"

namespace mneme::objects {
namespace {

struct Section {
  uint32_t name = 0;
  uint32_t type = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint32_t link = 0;
};

class SectionTable {
 public:
  SectionTable(Bytes elf, const std::string& where) : elf_(elf), where_(where) {
    if (elf.size() < sizeof(Elf64_Ehdr) || !starts_with(elf, 0, std::string_view(ELFMAG, SELFMAG))) {
      throw Error::of("{} is not an ELF file", where);
    }
    if (std::to_integer<int>(elf[EI_CLASS]) != ELFCLASS64 || std::to_integer<int>(elf[EI_DATA]) != ELFDATA2LSB) {
      throw Error::of("{} is not a 64-bit little-endian ELF file", where);
    }
    table_ = word_at<uint64_t>(elf, offsetof(Elf64_Ehdr, e_shoff));
    if (table_ == 0) return;  // stripped of its section headers: no sections
    if (word_at<uint16_t>(elf, offsetof(Elf64_Ehdr, e_shentsize)) != sizeof(Elf64_Shdr) ||
        !fits(table_, sizeof(Elf64_Shdr), elf.size())) {
      throw malformed("its section headers lie outside the file");
    }
    // Counts too large for their 16-bit fields stand in section header 0.
    count_ = word_at<uint16_t>(elf, offsetof(Elf64_Ehdr, e_shnum));
    uint64_t names = word_at<uint16_t>(elf, offsetof(Elf64_Ehdr, e_shstrndx));
    if (count_ == 0) count_ = read(0).size;
    if (names == SHN_XINDEX) names = read(0).link;
    if (count_ > (elf.size() - table_) / sizeof(Elf64_Shdr)) {
      throw malformed("its section headers lie outside the file");
    }
    if (names == SHN_UNDEF) {
      count_ = 0;
      return;
    }
    if (names >= count_) throw malformed("the index of its section names is out of range");
    names_ = contents(read(names));
  }

  uint64_t count() const { return count_; }

  Section read(uint64_t index) const {
    uint64_t at = table_ + index * sizeof(Elf64_Shdr);
    return {.name = word_at<uint32_t>(elf_, at + offsetof(Elf64_Shdr, sh_name)),
            .type = word_at<uint32_t>(elf_, at + offsetof(Elf64_Shdr, sh_type)),
            .offset = word_at<uint64_t>(elf_, at + offsetof(Elf64_Shdr, sh_offset)),
            .size = word_at<uint64_t>(elf_, at + offsetof(Elf64_Shdr, sh_size)),
            .link = word_at<uint32_t>(elf_, at + offsetof(Elf64_Shdr, sh_link))};
  }

  std::string_view name(const Section& section) const {
    if (section.name >= names_.size()) throw malformed("a section's name lies outside the table of names");
    std::string_view rest = text_of(names_).substr(section.name);
    size_t end = rest.find('\0');
    if (end == std::string_view::npos) throw malformed("a section's name does not end");
    return rest.substr(0, end);
  }

  Bytes contents(const Section& section) const {
    if (section.type == SHT_NOBITS) return {};
    if (!fits(section.offset, section.size, elf_.size())) throw malformed("a section lies outside the file");
    return elf_.subspan(section.offset, section.size);
  }

 private:
  Error malformed(const char* why) const { return Error::of("{} is a malformed ELF file: {}", where_, why); }

  Bytes elf_;
  const std::string& where_;
  uint64_t table_ = 0;
  uint64_t count_ = 0;
  Bytes names_;
};

}  // namespace

Bytes elf_section(Bytes elf, std::string_view name, const std::string& where) {
  SectionTable table(elf, where);
  for (uint64_t i = 1; i < table.count(); ++i) {
    Section section = table.read(i);
    if (table.name(section) == name) return table.contents(section);
  }
  return {};
}

std::optional<uint16_t> index_of_section(Bytes elf, std::string_view name, const std::string& where) {
  SectionTable table(elf, where);
  for (uint64_t i = 1; i < std::min<uint64_t>(table.count(), SHN_LORESERVE); ++i) {
    if (table.name(table.read(i)) == name) return static_cast<uint16_t>(i);
  }
  return std::nullopt;
}

Bytes elf_section_at(Bytes elf, uint64_t index, const std::string& where) {
  SectionTable table(elf, where);
  return index > 0 && index < table.count() ? table.contents(table.read(index)) : Bytes();
}

}  // namespace mneme::objects
