// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/long_names.h"

#include <gtest/gtest.h>

namespace mneme {
namespace {

const std::string kLong = "void run<" + std::string(5000, 'x') + ">(Functor, int)";

TEST(LongNames, KeepsTheBeginningAndTheEnd) {
  EXPECT_EQ(cut_in_the_middle("void add(float*, int)"), "void add(float*, int)");
  const std::string cut = cut_in_the_middle(kLong);
  EXPECT_EQ(width_of(cut), kWidestName);
  EXPECT_TRUE(cut.starts_with("void run<xxx"));
  EXPECT_TRUE(cut.ends_with("x>(Functor, int)"));
}

TEST(LongNames, CutsNoCharacterInTwo) {
  for (size_t length = 70; length < 90; ++length) {
    std::string text;
    for (size_t i = 0; i < length; ++i) text += "ä";
    const std::string cut = cut_in_the_middle("x" + text);
    EXPECT_EQ(cut.size() % 2 == 0 || cut.size() == 1 + 2 * length, cut.size() % 2 == 0 || width_of(cut) <= kWidestName);
    for (size_t i = 1; i < cut.size() && cut.compare(i, 3, "…") != 0; i += 2) EXPECT_EQ(cut.compare(i, 2, "ä"), 0);
  }
}

TEST(LongNames, CutsOneInAMessage) {
  const std::string cut = cut_in_the_middle(kLong);
  EXPECT_EQ(with_short_name(kLong + ", " + kLong, kLong), cut + ", " + cut);
  EXPECT_EQ(with_short_name("add, add", "add"), "add, add");
}

TEST(LongNames, CutsThoseThatWereNoted) {
  const std::string message = "kernel '" + kLong + "' failed, and '" + kLong + "' did";
  EXPECT_EQ(with_short_names(message), message);
  note_name(kLong);
  note_name(kLong + "::more");
  note_name("add(float*)");
  const std::string cut = cut_in_the_middle(kLong);
  EXPECT_EQ(with_short_names(message), "kernel '" + cut + "' failed, and '" + cut + "' did");
  EXPECT_EQ(with_short_names("in " + kLong + "::more"), "in " + cut_in_the_middle(kLong + "::more"));
  EXPECT_EQ(with_short_names("add(float*)"), "add(float*)");
}

}  // namespace
}  // namespace mneme
