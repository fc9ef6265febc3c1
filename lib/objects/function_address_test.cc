// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "objects/function_address.h"

#include <gtest/gtest.h>

namespace mneme::objects {
namespace {

TEST(FunctionAddress, PlacesAreMultiplesOfEightFromEightOn) {
  for (uint64_t address : {8, 16, 8 * 4096}) EXPECT_TRUE(is_place(address)) << address;
  for (uint64_t address : {uint64_t{0}, uint64_t{4}, uint64_t{12}, uint64_t{8 * 4097}, function_address("f")}) {
    EXPECT_FALSE(is_place(address)) << address;
  }
}

TEST(FunctionAddress, IsAsRecordedWhereThatIsKnown) {
  bundle::KernelInfo kernel;
  kernel.functions = {"f", "g"};
  EXPECT_EQ(recorded_address(kernel, "g"), 0u) << "recorded on the host device";
  kernel.function_addresses = {24, 8};
  EXPECT_EQ(recorded_address(kernel, "f"), 24u);
  EXPECT_EQ(recorded_address(kernel, "g"), 8u);
  EXPECT_EQ(recorded_address(kernel, "h"), 0u);
  EXPECT_EQ(recorded_or_made_address(kernel, "g"), 8u);
  EXPECT_EQ(recorded_or_made_address(kernel, "h"), function_address("h"));
}

// Programs that are there already have such variables.
TEST(FunctionAddress, VariablesAndNumbersDependOnTheNameAlone) {
  EXPECT_EQ(address_symbol("_Z5twicei").substr(0, 16), "__mneme_address_");
  EXPECT_EQ(address_symbol("a").size(), 32u);
  EXPECT_NE(address_symbol("a"), address_symbol("b"));
  EXPECT_EQ(address_symbol(""), "__mneme_address_2d06800538d394c2");  // XXH3-64 of nothing
  EXPECT_EQ(function_address(""), 0x6f0000000000 + (0x2d06800538d394c2 % (uint64_t{1} << 36)) * 16);
}

}  // namespace
}  // namespace mneme::objects
