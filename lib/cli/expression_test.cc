// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/expression.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace mneme::cli {
namespace {

TEST(Expression, KnowsTheUsualOnes) {
  for (const char* text : {"^void", "add<(float|double)>", "\\w+_add", "a{2}|d{2}", ">\\(.*\\)$", "[[:alpha:]]_add"}) {
    Expression expression("--kernel", text);
    EXPECT_TRUE(expression.matches("void vector_add<double>(double*)")) << text;
    EXPECT_FALSE(expression.matches("9")) << text;
  }
}

TEST(Expression, MatchesTemplatesWithAndWithoutTheReturnType) {
  for (const char* text : {"^blur", "^void blur", "^blur<2>\\(float\\*\\)$"}) {
    EXPECT_TRUE(Expression("--kernel", text).matches("void blur<2>(float*)")) << text;
  }
  EXPECT_FALSE(Expression("--kernel", "^lur|^ blur|^float").matches("void blur<2>(float*)"));
  EXPECT_FALSE(Expression("--kernel", "^blur").matches("void voidblur<2>(float*)"));
  EXPECT_TRUE(Expression("--kernel", "^void_blur").matches("void_blur(float*)"));
}

TEST(Expression, SaysWhatIsNone) {
  for (const char* text : {"(", "[a", "a{2,1}"}) {
    try {
      Expression("--kernel", text);
      FAIL() << text;
    } catch (const Error& error) {
      const std::string said = error.what();
      EXPECT_TRUE(said.starts_with("--kernel '" + std::string(text) + "' is not a valid regular ex"));
      EXPECT_TRUE(said.ends_with("; in a kernel's name put \\ before (, ), [, *, +, ? and {")) << said;
    }
  }
}

TEST(Expression, TakesNoLongerThanTheNameIs) {
  EXPECT_FALSE(Expression("--kernel", "(a|b)*c").matches(std::string(10 << 20, 'a')));
  EXPECT_FALSE(Expression("--kernel", "(.*)*x").matches("void " + std::string(1000, 'a') + "(float*, int)"));
}

}  // namespace
}  // namespace mneme::cli
