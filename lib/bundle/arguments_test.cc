// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/arguments.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace mneme::bundle {
namespace {

// A pointer, a number of 4 bytes, and behind a gap a structure of 12 bytes of which the bytes 1 to 3 are padding.
KernelInfo kernel() {
  KernelInfo info;
  info.demangled = "k(float*, int, S)";
  info.argument_bytes = 28;
  info.arguments = {{0, 8, "pointer", "float", {}}, {8, 4, "scalar", "i32", {}}, {16, 12, "struct", "%S", {{1, 3}}}};
  return info;
}

constexpr std::string_view kBytes = "ppppppppnnnn....a___bbbbcccc";

std::vector<Guard> guards(const std::string& specialize_args, const KernelInfo& of = kernel(),
                          std::string_view bytes = kBytes) {
  Configuration configuration;
  configuration.specialize_args = specialize_args;
  return guards_of(of, configuration, bytes);
}

TEST(Guards, AreTheSpecialisedArgumentsWithoutPadding) {
  EXPECT_TRUE(guards("").empty());
  EXPECT_EQ(guards("1"), (std::vector<Guard>{{8, "nnnn"}}));
  EXPECT_EQ(guards("2"), (std::vector<Guard>{{16, "a"}, {20, "bbbbcccc"}}));
  EXPECT_EQ(guards("0,2"), (std::vector<Guard>{{0, "pppppppp"}, {16, "a"}, {20, "bbbbcccc"}}));
  EXPECT_EQ(guards("0,1"), (std::vector<Guard>{{0, "ppppppppnnnn"}})) << "they are neighbours";
}

TEST(Guards, OfAllAreThoseOfNoPointersAndHandles) {
  EXPECT_EQ(guards("all"), (std::vector<Guard>{{8, "nnnn"}, {16, "a"}, {20, "bbbbcccc"}}));
  KernelInfo textures = kernel();
  textures.handles = {{20, false}};
  EXPECT_EQ(guards("all", textures), (std::vector<Guard>{{8, "nnnn"}}));
}

TEST(Guards, AreOfTheKernelsArguments) {
  for (const char* wrong : {"3", "x", "1,,2", "-1", "1 ", "99999999999999999999999"}) {
    EXPECT_THROW(guards(wrong), Error) << wrong;
  }
  EXPECT_THROW(guards("2", kernel(), kBytes.substr(0, 20)), Error);
}

}  // namespace
}  // namespace mneme::bundle
