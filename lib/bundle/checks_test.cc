// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/checks.h"

#include <gtest/gtest.h>

#include "bundle/testing/format_tests.h"

namespace mneme::bundle {
namespace {

TEST(Checks, AreListedInOneForm) {
  EXPECT_EQ(wanted_checks("races,memory, init").checks, "init,races");
  EXPECT_TRUE(wanted_checks("races,memory").memory);
  EXPECT_FALSE(wanted_checks("races").memory);
  EXPECT_EQ(list_of(wanted_checks("all")), "memory,init,nan,races,sync");
  EXPECT_EQ(list_of(wanted_checks("memory")), "memory");
  EXPECT_EQ(fault_of([] { wanted_checks("race"); }), "takes all, or some of memory,init,nan,races,sync, not 'race'");
  EXPECT_EQ(fault_of([] { wanted_checks(","); }), "takes a list of checks, not an empty one");
  EXPECT_EQ(normal_checks("races,init,races"), "init,races");
  EXPECT_EQ(fault_of([] { normal_checks("memory"); }), "takes some of init,nan,races,sync, not 'memory'");
  EXPECT_TRUE(has_check("init,races", "races"));
  EXPECT_FALSE(has_check("init,races", "race"));
  EXPECT_FALSE(has_check("", ""));
}

TEST(Checks, FindingsAreSuppressedByPattern) {
  Finding finding{"races", "write-read", "a sentence", "reduce.hip:12", "reduce.hip:14"};
  auto has = [&](const std::string& text) {
    return Suppressions::parse(text, "the file").has(finding, "void reduce<int>(int*, int)");
  };
  EXPECT_FALSE(has("# nothing\n\n"));
  EXPECT_TRUE(has("races * reduce.hip:12"));
  EXPECT_TRUE(has("races * reduce.hip:14  # the other one"));
  EXPECT_TRUE(has("* void reduce<*>(int\\*, int) *.hip:*"));
  EXPECT_FALSE(has("races * reduce.hip:1"));
  EXPECT_FALSE(has("init * *"));
  EXPECT_FALSE(has("races scan* *"));
  EXPECT_EQ(fault_of([] { Suppressions::parse("\nraces *", "the file"); }),
            "line 2 of the file is not a check (init, nan, races, sync or *), a kernel's pattern and a line's pattern");
  EXPECT_NE(fault_of([] { Suppressions::parse("race * *", "the file"); }), "none");
}

}  // namespace
}  // namespace mneme::bundle
