// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cuda/carried.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "cuda/wrapper.h"

namespace mneme::inject {
namespace {

using Sections = std::map<std::string, std::string>;

TEST(Carried, ComesOutAsItWentIn) {
  std::string contents(10000, '\0');
  for (size_t i = 0; i < contents.size(); ++i) contents[i] = static_cast<char>(i * 7);
  std::string ptx = ".version 8.5\n" + carried_lines(".a", contents) + ".target sm_90\n" + carried_lines(".b", "x\ny") +
                    carried_lines(".a", "more");
  EXPECT_TRUE(carries(ptx));
  EXPECT_EQ(take_carried(ptx), (Sections{{".a", contents + "more"}, {".b", "x\ny"}}));
  EXPECT_EQ(ptx, ".version 8.5\n.target sm_90\n");
  EXPECT_FALSE(carries(ptx));
}

TEST(Carried, LeavesOtherPtxAlone) {
  for (const char* text : {"", "\n", "// mneme\n.version 8.5", "no end of line"}) {
    std::string ptx = text;
    EXPECT_FALSE(carries(ptx));
    EXPECT_TRUE(take_carried(ptx).empty());
    EXPECT_EQ(ptx, text);
  }
}

TEST(Carried, LeavesNoTraceInWhatLlvmPrints) {
  const std::string spaces(40, ' ');
  auto printed = [&](const std::string& assembly) {
    return "head\n" + spaces + "// Start of file scope inline assembly\n" + assembly + "\n" + spaces +
           "// End of file scope inline assembly\ncode\n";
  };
  std::string ptx = printed(carried_lines(".a", "x"));
  take_carried(ptx);
  EXPECT_EQ(ptx, "head\ncode\n");
  ptx = printed(".global .b8 users;\n" + carried_lines(".a", "x"));
  take_carried(ptx);
  EXPECT_EQ(ptx, printed(".global .b8 users;\n")) << "assembly of the program's own stays";
}

TEST(Carried, TakesTheDirectiveOfLinkTimeOptimisationAlong) {
  std::string ptx =
      "head\n.lto_discard\n" + carried_lines(".a", "x") + ".lto_discard\n" + carried_lines(".a", "y") + "tail\n";
  EXPECT_EQ(take_carried(ptx), (Sections{{".a", "xy"}}));
  EXPECT_EQ(ptx, "head\ntail\n");
  const std::string others = ".lto_discard\n.global .b8 users;\n";
  ptx = others;
  take_carried(ptx);
  EXPECT_EQ(ptx, others);
}

TEST(Carried, RefusesWhatIsMalformed) {
  for (const char* line : {"//mneme .a\n", "//mneme .a 123\n", "//mneme .a xy\n", "//mneme .a 12"}) {
    std::string ptx = line;
    EXPECT_THROW(take_carried(ptx), Error) << line;
  }
}

TEST(Wrapper, FindsTheOutput) {
  EXPECT_EQ(output_of({"-m64", "--output-file", "a b.o", "x.s"}), "a b.o");
  EXPECT_EQ(output_of({"--output-file=x", "y.s"}), "x");
  EXPECT_EQ(output_of({"-arch", "sm_90", "-o", "x"}), "x");
  EXPECT_EQ(output_of({"x.s"}), "");
}

}  // namespace
}  // namespace mneme::inject
