// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.h"

#include <gtest/gtest.h>

namespace mneme::capture {
namespace {

TEST(Report, TellsWhatBecameOfEachKernel) {
  bundle::Summary summary;
  summary.totals = bundle::Totals{{{"f()", 100, 4}, {"g()", 1, 1}, {"h()", 2, 0}}, 3 << 20, 1000};
  summary.skipped = {
      {"f()", 6, "it was late"}, {"f()", 10, "it was early"}, {"h()", 2, "no IR"}, {"(all)", 1, "ended"}};
  EXPECT_EQ(report(summary),
            (std::vector<std::string>{
                "3 kernels, 103 launches, 5 recorded",
                "f(): 100 launches, 4 recorded, 80 like those, 6 not: it was late, 10 not: it was early",
                "g(): 1 launch, 1 recorded",
                "h(): 2 launches, 0 recorded, 2 not: no IR",
                "(all): 1 launch not recorded: ended",
                "memory before and after the recorded launches: 3.0 MiB, stored in 1000 bytes",
            }));
}

TEST(Report, OfNothingIsShort) {
  EXPECT_EQ(report({}), (std::vector<std::string>{"0 kernels, 0 launches, 0 recorded",
                                                  "memory before and after the recorded launches: 0 bytes, stored in 0 "
                                                  "bytes"}));
}

}  // namespace
}  // namespace mneme::capture
