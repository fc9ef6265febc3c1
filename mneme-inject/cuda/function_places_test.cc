// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cuda/function_places.h"

#include <gmock/gmock.h>

#include <cstring>

#include "objects/cuda_fatbin.h"
#include "objects/elf_builder.h"
#include "objects/embedded.h"
#include "objects/function_address.h"

namespace mneme::inject {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// A cubin in which these variables hold these words.
std::string cubin(const std::vector<std::pair<std::string, uint64_t>>& variables) {
  std::string names(1, '\0'), symbols(sizeof(Elf64_Sym), '\0'), contents;
  for (const auto& [name, word] : variables) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<Elf64_Word>(names.size());
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
    symbol.st_shndx = 1;
    symbol.st_value = contents.size();
    symbol.st_size = sizeof word;
    names += objects::address_symbol(name) + '\0';
    symbols.append(reinterpret_cast<const char*>(&symbol), sizeof symbol);
    contents.append(reinterpret_cast<const char*>(&word), sizeof word);
  }
  return objects::build_elf({{".nv.global.init", contents}, {".symtab", symbols}, {".strtab", names}},
                            objects::kCudaMachine);
}

FunctionPlaces places(const std::string& image, std::string_view names) { return places_in(bytes_of(image), names); }

TEST(FunctionPlaces, VariablesAreAddedBehindTheFunctions) {
  std::string ptx = with_address_variables("code\n", "f\n_ZL1g.1\n");
  EXPECT_THAT(ptx, HasSubstr("code\n\n.visible .global .align 8 .u64 " + objects::address_symbol("f") + " = f;\n"));
  EXPECT_THAT(ptx, HasSubstr(objects::address_symbol("_ZL1g.1") + " = _ZL1g_$_1;\n"));
}

TEST(FunctionPlaces, AreWhatTheVariablesHold) {
  EXPECT_THAT(places(cubin({{"f", 16}, {"g", 8}}), "f\ng\n"), UnorderedElementsAre(Pair("f", 16), Pair("g", 8)));
}

// What is no place in the table is of no use to other code.
TEST(FunctionPlaces, OtherAddressesAreNone) {
  EXPECT_TRUE(places(cubin({{"f", 0xc0}, {"g", 0xe0}}), "f\ng\n").empty()) << "offsets in the kernel's code";
  EXPECT_TRUE(places(cubin({{"f", 0}, {"g", 8}}), "f\ng\n").empty()) << "the loader's";
  EXPECT_TRUE(places(cubin({{"f", 8}, {"g", 8}}), "f\ng\n").empty());
  EXPECT_TRUE(places(cubin({{"f", 8}}), "f\ng\n").empty()) << "one is missing";
}

TEST(FunctionPlaces, ArePartOfWhatAKernelIs) {
  bundle::KernelInfo info;
  std::string bitcode = "bitcode";
  info.id = info.bitcode = digest_of(bitcode);
  info.name = "k";
  info.functions = {"f", "other", "g"};
  std::string records = objects::write_embedded(bundle::write(info), bytes_of(bitcode));
  std::string placed = with_places(records, {{"f", 16}, {"g", 8}});
  auto kernels = objects::parse_embedded(bytes_of(placed), "here");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_THAT(kernels[0].info.function_addresses, ElementsAre(16, 0, 8));
  EXPECT_EQ(kernels[0].info.id, bundle::kernel_id(info.id, {16, 0, 8}));
  EXPECT_EQ(text_of(kernels[0].bitcode), bitcode);
  EXPECT_EQ(with_places(records, {}), records);
  EXPECT_EQ(with_places(records, {{"none of its", 8}}), records);
}

}  // namespace
}  // namespace mneme::inject
