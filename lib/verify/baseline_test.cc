// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/baseline.h"

#include <gtest/gtest.h>

#include "verify/errors.h"

namespace mneme::verify {
namespace {

constexpr uint64_t kBase = 0x400000000000;

bundle::SegmentDifference difference(double absolute, double relative) {
  bundle::SegmentDifference out{kBase, 12, 0, 1, 2};
  auto norms = [](double error) { return bundle::ErrorNorms{error, 3 * error, 2 * error, 0, "", ""}; };
  out.observation = bundle::Observation{"f64", 100, 3, 0, norms(absolute), norms(relative)};
  return out;
}

struct Spread : testing::Test {
  bundle::Baseline baseline{5, "", {difference(1, 0.125)}, {}, true, 0};

  bool varies(bundle::SegmentDifference found, uint64_t steady = 0) {
    found.steady = steady;
    return is_as_it_varies(found, baseline);
  }
};

TEST_F(Spread, UpToTwiceAsFar) {
  EXPECT_TRUE(varies(difference(0.5, 0.0625)));
  EXPECT_TRUE(varies(difference(2, 0.25)));
  EXPECT_FALSE(varies(difference(2.01, 0.25)));
  EXPECT_FALSE(varies(difference(2, 0.251)));
}

TEST_F(Spread, InEveryNorm) {
  auto found = difference(1, 0.125);
  found.observation->absolute.l1 = 6.01;
  EXPECT_FALSE(varies(found)) << "many small errors";
  found = difference(1, 0.125);
  found.observation->relative.l2 = 0.51;
  EXPECT_FALSE(varies(found));
}

TEST_F(Spread, NothingSteadyMayDiffer) {
  EXPECT_FALSE(varies(difference(0.5, 0.0625), 1));
  EXPECT_FALSE(is_as_it_varies(difference(0.5, 0.0625), baseline)) << "it is not known";
}

TEST_F(Spread, OnlyWhereSomethingVaries) {
  baseline.spread[0].address += 256;
  EXPECT_FALSE(varies(difference(0.5, 0.0625)));
}

TEST_F(Spread, InfiniteErrorsAreNoMeasure) {
  baseline.spread = {difference(1, kInfinite)};
  EXPECT_TRUE(varies(difference(1, kInfinite))) << "a zero came and went: the absolute error still counts";
  EXPECT_FALSE(varies(difference(2.5, 1)));
  baseline.spread = {difference(kInfinite, kInfinite)};
  EXPECT_FALSE(varies(difference(1, 1)));
}

TEST_F(Spread, OfTheSameType) {
  auto found = difference(1, 0.125);
  found.observation->type = "f32";
  EXPECT_FALSE(varies(found));
  found.observation.reset();
  EXPECT_FALSE(varies(found));
}

TEST_F(Spread, BytesByTheirNumber) {
  baseline.spread[0].observation.reset();
  bundle::SegmentDifference found{kBase, 24, 0, 1, 2};
  EXPECT_TRUE(varies(found));
  found.bytes = 25;
  EXPECT_FALSE(varies(found));
}

TEST_F(Spread, ATailByItsBytes) {
  auto found = difference(1, 0.125);
  found.observation->tail = 1;
  EXPECT_FALSE(varies(found));
  baseline.spread[0].observation->tail = 1;
  EXPECT_TRUE(varies(found));
}

TEST_F(Spread, TheClauseSaysWhich) {
  auto clause = [&](double absolute, uint64_t steady) {
    auto found = difference(absolute, 0.125);
    found.steady = steady;
    return variation_clause(found, baseline, nullptr);
  };
  EXPECT_EQ(clause(1, 0),
            "; this is as much as it varies by itself: 5 executions of the recorded code differ by up to 3 elements, "
            "absolute error (linf) 1, relative 0.125");
  EXPECT_EQ(clause(1, 2), "; 2 of the elements that differ do not vary by themselves");
  EXPECT_NE(clause(9, 0).find("; this is more than it varies by itself"), std::string::npos);
  Policy policy{ElementType::kF64, 0, Kind::kAbsolute, Norm::kL1};
  auto found = difference(9, 1);
  found.steady = 0;
  EXPECT_NE(variation_clause(found, baseline, &policy).find("3 elements, absolute error (l1) 3"), std::string::npos);
  baseline.spread.clear();
  EXPECT_EQ(clause(1, 0), "; in 5 executions of the recorded code it does not vary");
  baseline.blocks_complete = false;
  EXPECT_NE(clause(1, 0).find("--max-diff"), std::string::npos);
}

TEST_F(Spread, RemarksOnlyWhereThereIsSomethingToSay) {
  EXPECT_EQ(baseline_remark(baseline), std::nullopt);
  baseline.unlike = 8;
  EXPECT_NE(baseline_remark(baseline)->find(": 8 bytes differ from it in each of "), std::string::npos);
  EXPECT_NE(baseline_remark({0, "it crashed", {}, {}, true, 0})->find("it crashed"), std::string::npos);
}

TEST_F(Spread, BlocksMustShowWhatTheBaselineClaims) {
  Layout layout(std::vector<bundle::Segment>{{kBase, 100, bundle::SegmentKind::kHeap, "", ""}});
  std::string marks(bundle::kBlockSize, '\0');
  for (size_t i = 0; i < 12; i++) marks[i] = 1;
  auto wrong = [&] {
    Variation variation;
    return read_variation(layout, baseline, [&](const Digest&) { return bytes_of(marks); }, variation);
  };
  baseline.blocks = {{kBase, digest_of(marks)}};
  EXPECT_EQ(wrong(), std::nullopt);
  baseline.spread[0].bytes = 13;
  EXPECT_NE(wrong()->find("more varies"), std::string::npos);
  baseline.spread[0].bytes = 12;
  baseline.blocks.push_back(baseline.blocks[0]);
  EXPECT_NE(wrong()->find("twice"), std::string::npos);
  baseline.blocks = {{kBase + bundle::kBlockSize, digest_of(marks)}};
  EXPECT_NE(wrong()->find("no segment"), std::string::npos);
  baseline.blocks.clear();
  EXPECT_NE(wrong()->find("more varies"), std::string::npos);
}

}  // namespace
}  // namespace mneme::verify
