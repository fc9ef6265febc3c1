// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/error.h"
#include "objects/elf_builder.h"
#include "objects/embedded.h"

namespace mneme::objects {
namespace {

std::string section_of(const std::string& image, std::string_view name) {
  return std::string(text_of(elf_section(bytes_of(image), name, "test")));
}

size_t section_header(const std::string& image, size_t index, size_t field) {
  Elf64_Ehdr header;
  std::memcpy(&header, image.data(), sizeof header);
  return header.e_shoff + index * sizeof(Elf64_Shdr) + field;
}

TEST(ElfSection, finds_by_whole_name) {
  std::string image = build_elf({{".text", "code"}, {".mneme.ir", "first"}, {".mneme", "second"}});
  EXPECT_EQ(section_of(image, ".mneme.ir"), "first");
  EXPECT_EQ(section_of(image, ".mneme"), "second");
  EXPECT_EQ(section_of(image, ".mnem"), "");
  EXPECT_EQ(section_of(image, ".absent"), "");
}

TEST(ElfSection, reads_this_executable) {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  std::string image((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(section_of(image, ".interp"), std::string("/lib64/ld-linux-x86-64.so.2") + '\0');
  EXPECT_EQ(section_of(image, ".bss"), "") << "a section without contents in the file";
}

TEST(ElfSymbol, may_be_there_unless_a_table_lacks_it) {
  EXPECT_TRUE(elf_may_have(bytes_of(build_elf({{".text", "code"}})), "f", "test")) << "it was stripped";
  Elf64_Sym symbols[3] = {};
  symbols[1].st_name = 1;
  symbols[1].st_shndx = 1;
  symbols[2].st_name = 3;  // defined elsewhere
  std::string table(reinterpret_cast<const char*>(symbols), sizeof symbols);
  std::string image = build_elf({{".text", "code"}, {".symtab", table}, {".strtab", std::string("\0f\0gh\0", 6)}});
  EXPECT_TRUE(elf_may_have(bytes_of(image), "f", "test"));
  for (const char* name : {"g", "h", "gh", ""}) EXPECT_FALSE(elf_may_have(bytes_of(image), name, "test")) << name;
}

TEST(ElfSection, refuses_what_is_no_elf) {
  EXPECT_THROW(section_of("", "x"), Error);
  EXPECT_THROW(section_of(std::string(4096, 'x'), "x"), Error);
  std::string narrow = build_elf({});
  narrow[EI_CLASS] = ELFCLASS32;
  EXPECT_THROW(section_of(narrow, "x"), Error);
  std::string big = build_elf({});
  big[EI_DATA] = ELFDATA2MSB;
  EXPECT_THROW(section_of(big, "x"), Error);
}

TEST(ElfSection, survives_every_truncation) {
  std::string image = build_elf({{".mneme.ir", "payload"}});
  for (size_t size = 0; size < image.size(); ++size) {
    std::string cut = image.substr(0, size);
    EXPECT_THROW(section_of(cut, ".mneme.ir"), Error) << size;
  }
}

TEST(ElfSection, refuses_lying_numbers) {
  const std::string image = build_elf({{".mneme.ir", "payload"}});
  for (uint64_t lie : {UINT64_MAX, UINT64_MAX - 3, uint64_t{1} << 63, uint64_t{image.size()}}) {
    std::string bad = image;
    poke(bad, section_header(image, 1, offsetof(Elf64_Shdr, sh_offset)), lie);
    EXPECT_THROW(section_of(bad, ".mneme.ir"), Error) << lie;
    bad = image;
    poke(bad, section_header(image, 1, offsetof(Elf64_Shdr, sh_size)), lie);
    EXPECT_THROW(section_of(bad, ".mneme.ir"), Error) << lie;
    bad = image;
    poke(bad, offsetof(Elf64_Ehdr, e_shoff), lie);
    EXPECT_THROW(section_of(bad, ".mneme.ir"), Error) << lie;
    bad = image;
    poke(bad, section_header(image, 1, offsetof(Elf64_Shdr, sh_name)), static_cast<uint32_t>(lie | 0xffff));
    EXPECT_THROW(section_of(bad, ".mneme.ir"), Error) << lie;
    bad = image;  // the count stands in section 0 when the header's is zero
    poke(bad, offsetof(Elf64_Ehdr, e_shnum), uint16_t{0});
    poke(bad, section_header(image, 0, offsetof(Elf64_Shdr, sh_size)), lie);
    EXPECT_THROW(section_of(bad, ".mneme.ir"), Error) << lie;
  }
  std::string bad = image;
  poke(bad, offsetof(Elf64_Ehdr, e_shnum), uint16_t{0xfff0});
  EXPECT_THROW(section_of(bad, ".mneme.ir"), Error);
  bad = image;
  poke(bad, offsetof(Elf64_Ehdr, e_shstrndx), uint16_t{77});
  EXPECT_THROW(section_of(bad, ".mneme.ir"), Error);
  bad = image;
  poke(bad, offsetof(Elf64_Ehdr, e_shentsize), uint16_t{1});
  EXPECT_THROW(section_of(bad, ".mneme.ir"), Error);
}

TEST(ElfSection, takes_large_counts_from_section_zero) {
  std::string image = build_elf({{".mneme.ir", "payload"}});
  poke(image, offsetof(Elf64_Ehdr, e_shnum), uint16_t{0});
  poke(image, section_header(image, 0, offsetof(Elf64_Shdr, sh_size)), uint64_t{3});
  poke(image, offsetof(Elf64_Ehdr, e_shstrndx), uint16_t{SHN_XINDEX});
  poke(image, section_header(image, 0, offsetof(Elf64_Shdr, sh_link)), uint32_t{2});
  EXPECT_EQ(section_of(image, ".mneme.ir"), "payload");
}

TEST(ElfSection, an_image_without_section_headers_has_no_sections) {
  std::string image = build_elf({{".mneme.ir", "payload"}});
  poke(image, offsetof(Elf64_Ehdr, e_shoff), uint64_t{0});
  EXPECT_EQ(section_of(image, ".mneme.ir"), "");
}

}  // namespace
}  // namespace mneme::objects
