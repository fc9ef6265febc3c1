// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pass/own_plugins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mneme::inject {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// As the kernel shows them, separated by zeros.
std::vector<std::string> found_in(std::string line) {
  for (char& c : line) c = c == ' ' ? '\0' : c;
  return own_plugins_in(line + '\0');
}

TEST(OwnPlugins, AreAllButOurs) {
  EXPECT_THAT(found_in("clang -cc1 -fpass-plugin=/lib/mneme/libmneme-inject-pass.so a.hip"), IsEmpty());
  EXPECT_THAT(found_in("clang -cc1 -fpass-plugin=./late.so -fpass-plugin=/lib/mneme/libmneme-inject-pass.so a.hip"),
              ElementsAre("late.so"));
  EXPECT_THAT(found_in("clang -cc1 -load /opt/Enzyme.so -o load.o a.hip"), ElementsAre("Enzyme.so"));
  EXPECT_THAT(found_in("clang++ -fplugin=one.so -Xclang -load -Xclang two.so -Xclang -fpass-plugin=three.so a.hip"),
              ElementsAre("one.so", "two.so", "three.so"));
  EXPECT_THAT(found_in("lld --load-pass-plugin=own.so --load-pass-plugin=libmneme-inject-pass.so a.o"),
              ElementsAre("own.so"));
}

}  // namespace
}  // namespace mneme::inject
