// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "objects/cubin.h"

#include <elf.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "objects/cuda_fatbin.h"
#include "objects/elf_builder.h"

namespace mneme::objects {
namespace {

// An attribute of a function: form 4, of 8 bytes.
std::string attribute(uint8_t name, uint32_t symbol, uint32_t value) {
  std::string bytes = {4, static_cast<char>(name), 8, 0};
  bytes.append(reinterpret_cast<const char*>(&symbol), sizeof symbol);
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  return bytes;
}

std::string symbol(uint32_t name, uint8_t type) {
  Elf64_Sym symbol{};
  symbol.st_name = name;
  symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, type);
  return std::string(reinterpret_cast<const char*>(&symbol), sizeof symbol);
}

using Sections = std::vector<std::pair<std::string, std::string>>;

// Symbols 1 and 2 are the functions "kernel" and "other"; "kernel" is also the name of symbol 3, a section.
std::string cubin(const std::string& info, const Sections& more = {}) {
  std::string names("\0other\0kernel\0", 14);
  Sections sections = {{".strtab", names},
                       {".symtab", symbol(0, 0) + symbol(7, STT_FUNC) + symbol(1, STT_FUNC) + symbol(7, STT_SECTION)},
                       {".nv.info", info},
                       {".nv.constant0.kernel", std::string(548, '\0')},
                       {".nv.constant0.other", std::string(1000, '\0')},
                       {".nv.constant3", std::string(64, '\0')},
                       {".nv.constant3.kernel", std::string(8, '\0')}};
  sections.insert(sections.end(), more.begin(), more.end());
  return build_elf(sections);
}

bundle::Resources read(const std::string& image) { return resources_in_cubin(bytes_of(image), "kernel", "a cubin"); }

std::string refusal(const std::string& image) {
  try {
    read(image);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

TEST(Cubin, SaysWhatAKernelTakes) {
  std::string without_value("\x03\x50\0\0", 4);
  bundle::Resources resources =
      read(cubin(attribute(0x2f, 2, 99) + attribute(0x11, 2, 7) + without_value + attribute(0x2f, 1, 46) +
                 attribute(0x11, 1, 440) + attribute(0x12, 1, 0xffffffff)));
  EXPECT_EQ(resources.registers, 46u);
  EXPECT_EQ(resources.stack, 440u);
  EXPECT_EQ(resources.constants, (std::vector<bundle::ConstantBank>{{0, 548}, {3, 72}}));
  EXPECT_EQ(resources.shared, 0u);
}

TEST(Cubin, SaysWhatSharedMemoryAKernelTakes) {
  const auto shared = [](const Sections& sections) { return read(cubin("", sections)).shared; };
  EXPECT_EQ(shared({{".nv.shared.kernel", std::string(1280, '\0')}, {".nv.shared.other", std::string(64, '\0')}}),
            1280u);
  // From sm_90 on.
  EXPECT_EQ(shared({{".nv.shared.reserved.0", ""}, {".nv.shared.kernel", std::string(2304, '\0')}}), 1280u);
  EXPECT_EQ(shared({{".nv.shared.reserved.0", ""}, {".nv.shared.kernel", std::string(1024, '\0')}}), 0u);
  EXPECT_EQ(shared({{".nv.shared.reserved.0", ""}}), 0u);
}

TEST(Cubin, MalformedOnesAreRefused) {
  std::string whole = attribute(0x2f, 1, 46);
  EXPECT_EQ(refusal(cubin(whole)), "nothing");
  for (size_t size : {1, 4, 11}) {
    EXPECT_EQ(refusal(cubin(whole.substr(0, size))), "a cubin is a malformed cubin: an attribute is cut short") << size;
  }
  EXPECT_EQ(refusal(build_elf({{".text", "x"}})), "a cubin has no kernel 'kernel'");
  EXPECT_EQ(refusal("PTX"), "a cubin is not an ELF file");
}

// "table" lies behind 8 other bytes in section 1; "zeros" in none that has contents; "beyond" lies outside of it.
TEST(Cubin, SaysWhatVariablesHoldAtFirst) {
  auto variable = [](uint32_t name, uint16_t section, uint64_t value, uint64_t size, uint8_t type = STT_OBJECT) {
    Elf64_Sym symbol{};
    symbol.st_name = name;
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, type);
    symbol.st_shndx = section;
    symbol.st_value = value;
    symbol.st_size = size;
    return std::string(reinterpret_cast<const char*>(&symbol), sizeof symbol);
  };
  std::string image = build_elf({{".nv.global.init", "12345678contents"},
                                 {".strtab", std::string("\0table\0zeros\0beyond\0kernel\0", 28)},
                                 {".symtab", variable(0, 0, 0, 0) + variable(1, 1, 8, 8) + variable(7, 77, 0, 24) +
                                                 variable(13, 1, 9, 8) + variable(20, 1, 0, 8, STT_FUNC)}},
                                kCudaMachine);
  auto found = [&](const char* name) { return elf_variable(bytes_of(image), name, "a cubin"); };
  ASSERT_TRUE(found("table") && found("zeros") && found("beyond"));
  EXPECT_EQ(found("table")->size, 8u);
  EXPECT_EQ(text_of(found("table")->first), "contents");
  EXPECT_EQ(found("zeros")->size, 24u);
  EXPECT_TRUE(found("zeros")->first.empty());
  EXPECT_TRUE(found("beyond")->first.empty());
  EXPECT_FALSE(found("kernel"));
  EXPECT_FALSE(found("tabl"));
}

// Of a processor that the ELF's header names, with the operation's lowest 16 bits in the kernel's second instruction.
bool uses_textures(uint16_t operation, unsigned processor, const char* kernel = "kernel") {
  std::string code(16, '\0');
  code.append(reinterpret_cast<const char*>(&operation), sizeof operation);
  std::string image = build_elf({{".text.kernel", code + std::string(14, '\xff')}, {".text.other", code}}, 190);
  image[EI_ABIVERSION] = 8;
  const uint32_t flags = processor << 8;
  image.replace(offsetof(Elf64_Ehdr, e_flags), sizeof flags, reinterpret_cast<const char*>(&flags), sizeof flags);
  return uses_textures_in_cubin(bytes_of(image), kernel, "a cubin");
}

TEST(Cubin, SaysWhetherAKernelUsesTextures) {
  for (uint16_t operation :
       {0xb60, 0xf60, 0xb61, 0xb63, 0xb66, 0xb6c, 0xb6f, 0xf6f, 0xb99, 0xf9b, 0xf9d, 0x59f, 0x394}) {
    EXPECT_TRUE(uses_textures(operation, 75)) << operation;
    EXPECT_TRUE(uses_textures(static_cast<uint16_t>(operation | 0xf000), 120)) << "with a guard: " << operation;
  }
  // LDG, STG, LDS, ATOMG, FFMA, BAR, RED, LDC
  for (uint16_t operation : {0x7981, 0x7986, 0x7984, 0x79a8, 0x7223, 0x7b1d, 0x798e, 0x7b82}) {
    EXPECT_FALSE(uses_textures(operation, 90)) << operation;
  }
  EXPECT_FALSE(uses_textures(0xb60, 61)) << "of another form";
  EXPECT_FALSE(uses_textures(0xb60, 90, "other")) << "half an instruction";
  EXPECT_FALSE(uses_textures(0xb60, 90, "absent"));
}

// Kernels 1 and 2, of which the first calls 3, and that 4, which has the instruction.
TEST(Cubin, SaysWhetherAFunctionOfAKernelsUsesTextures) {
  auto word = [](uint32_t value) { return std::string(reinterpret_cast<const char*>(&value), sizeof value); };
  const std::string plain(16, '\0'), textures = "\x60\x7b" + std::string(14, '\0');
  auto image = [&](const std::string& calls) {
    std::string made = build_elf({{".strtab", std::string("\0one\0two\0middle\0last\0", 21)},
                                  {".symtab", symbol(0, 0) + symbol(1, STT_FUNC) + symbol(5, STT_FUNC) +
                                                  symbol(9, STT_FUNC) + symbol(16, STT_FUNC)},
                                  {".nv.callgraph", calls},
                                  {".text.one", plain},
                                  {".text.two", plain},
                                  {".text.middle", plain},
                                  {".text.last", textures}},
                                 190);
    made[EI_ABIVERSION] = 8;
    const std::string flags = word(90 << 8);
    return made.replace(offsetof(Elf64_Ehdr, e_flags), flags.size(), flags);
  };
  auto uses = [](const std::string& cubin, const char* kernel) {
    return uses_textures_in_cubin(bytes_of(cubin), kernel, "a cubin");
  };
  const std::string ends = word(0) + word(0xffffffff);
  const std::string both = image(ends + word(3) + word(4) + word(1) + word(3) + word(4) + word(3) + ends);
  EXPECT_TRUE(uses(both, "one"));
  EXPECT_FALSE(uses(both, "two"));
  EXPECT_FALSE(uses(image(word(3) + word(4)), "one"));
  EXPECT_FALSE(uses(image(word(1) + word(3) + word(3)), "one")) << "half a call";
}

}  // namespace
}  // namespace mneme::objects
