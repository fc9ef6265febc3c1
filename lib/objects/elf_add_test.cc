// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include "base/error.h"
#include "objects/elf_builder.h"
#include "objects/embedded.h"

namespace mneme::objects {
namespace {

std::string section_of(const std::string& image, std::string_view name) {
  return std::string(text_of(elf_section(bytes_of(image), name, "test")));
}

TEST(WithSection, AddsOneAndLeavesTheRest) {
  const std::string image = build_elf({{".text", "code"}, {".data", "data"}});
  std::string more = with_section(bytes_of(image), ".mneme.ir", "some IR", "test");
  EXPECT_EQ(section_of(more, ".mneme.ir"), "some IR");
  EXPECT_EQ(section_of(more, ".text"), "code");
  EXPECT_EQ(section_of(more, ".data"), "data");
  Elf64_Ehdr before, after;
  std::memcpy(&before, image.data(), sizeof before);
  std::memcpy(&after, more.data(), sizeof after);
  EXPECT_EQ(more.substr(sizeof after, image.size() - sizeof after), image.substr(sizeof before)) << "where it was";
  EXPECT_EQ(after.e_shnum, before.e_shnum + 1);
  EXPECT_EQ(section_of(with_section(bytes_of(more), ".again", "x", "test"), ".mneme.ir"), "some IR");
}

TEST(WithSection, IsNotLoaded) {
  std::string more = with_section(bytes_of(build_elf({{".text", "code"}})), ".mneme.ir", "some IR", "test");
  Elf64_Ehdr header;
  std::memcpy(&header, more.data(), sizeof header);
  Elf64_Shdr added;
  std::memcpy(&added, more.data() + header.e_shoff + (header.e_shnum - 1) * sizeof added, sizeof added);
  EXPECT_EQ(added.sh_flags, 0u);
  EXPECT_EQ(added.sh_addr, 0u);
  EXPECT_EQ(added.sh_offset % kEmbeddedAlign, 0u);
  EXPECT_EQ(added.sh_addralign, kEmbeddedAlign);
}

TEST(WithSection, RefusesWhatItCannotAddTo) {
  EXPECT_THROW(with_section(bytes_of("no ELF file"), "x", "y", "test"), Error);
  const std::string good = build_elf({{".text", "code"}});
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_THROW(with_section(bytes_of(good.substr(0, size)), "x", "y", "test"), Error) << size;
  }
  std::string stripped = good;
  poke(stripped, offsetof(Elf64_Ehdr, e_shoff), uint64_t{0});
  EXPECT_THROW(with_section(bytes_of(stripped), "x", "y", "test"), Error);
  std::string many = good;
  poke(many, offsetof(Elf64_Ehdr, e_shnum), uint16_t{0});
  EXPECT_THROW(with_section(bytes_of(many), "x", "y", "test"), Error);
}

}  // namespace
}  // namespace mneme::objects
