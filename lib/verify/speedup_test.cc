// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/speedup.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace mneme::verify {
namespace {

using Times = std::vector<uint64_t>;

TEST(Speedup, MediansAndOutliers) {
  EXPECT_EQ(median({}), 0u);
  EXPECT_EQ(median({7}), 7u);
  EXPECT_EQ(median({9, 1, 5}), 5u);
  EXPECT_EQ(median({4, 1, 9, 7}), 5u);
  EXPECT_EQ(median({UINT64_MAX, UINT64_MAX}), UINT64_MAX);
  EXPECT_EQ(count_outliers({}), 0u);
  EXPECT_EQ(count_outliers({5, 5, 5, 5}), 0u);
  EXPECT_EQ(count_outliers({10, 11, 12, 13, 14, 15, 16, 17, 900, 0}), 1u);
}

TEST(Speedup, TheErrorOfAMedian) {
  EXPECT_EQ(median_error({100, 100, 100, 100}), std::numeric_limits<double>::infinity()) << "too few times";
  EXPECT_EQ(median_error({0, 0, 0, 0, 0}), std::numeric_limits<double>::infinity());
  EXPECT_EQ(median_error({100, 100, 100, 100, 100}), 0);
  EXPECT_NEAR(median_error({90, 90, 100, 110, 110}), 1.2533 * 14.826 / std::sqrt(5) / 100, 1e-4);
  EXPECT_NEAR(median_error({90, 90, 100, 110, 100'000}), 1.2533 * 14.826 / std::sqrt(5) / 100, 1e-4) << "an outlier";
}

TEST(Speedup, IsOfTheRounds) {
  // Everything is twice as slow in the second round, for both.
  Speedup found = speedup(Times{100, 102, 104, 200, 204, 208}, Times{51, 51, 51, 102, 102, 102}, 2);
  EXPECT_DOUBLE_EQ(found.factor, 2);
  EXPECT_EQ(found.rounds, 2u);
  EXPECT_FALSE(found.is_told()) << "two rounds tell nothing";
  EXPECT_FALSE(found.is_faster() || found.is_slower());
}

TEST(Speedup, OfRoundsThatAgree) {
  Times reference(20, 300), candidate(20, 100);
  Speedup faster = speedup(reference, candidate, 10);
  EXPECT_DOUBLE_EQ(faster.low, 3);
  EXPECT_DOUBLE_EQ(faster.high, 3);
  EXPECT_TRUE(faster.is_faster());
  EXPECT_TRUE(speedup(candidate, reference, 10).is_slower());
  Speedup same = speedup(candidate, candidate, 10);
  EXPECT_FALSE(same.is_faster() || same.is_slower());
  EXPECT_EQ(speedup(Times(10, 0), Times(10, 0), 10).factor, 1) << "a clock that is too coarse";
}

// What times are like: each varies by some hundredths to longer ones, some are far off, and all drift together.
class Machine {
 public:
  explicit Machine(uint64_t seed) : random_(seed) {}

  Speedup compare(double slowed_by, uint32_t rounds, uint32_t iterations) {
    Times reference, candidate;
    for (uint32_t round = 0; round < rounds; ++round) {
      drift_ *= std::exp(0.05 * normal_(random_));
      for (uint32_t i = 0; i < iterations; ++i) reference.push_back(time(1));
      for (uint32_t i = 0; i < iterations; ++i) candidate.push_back(time(slowed_by));
    }
    return speedup(reference, candidate, rounds);
  }

 private:
  uint64_t time(double factor) {
    double time = 20'000 * drift_ * factor * std::exp(0.03 * std::abs(normal_(random_)));
    if (random_() % 20 == 0) time *= 5;
    return static_cast<uint64_t>(time);
  }

  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  double drift_ = 1;
};

TEST(Speedup, NamesNoWinnerAmongEqualsBeyondChance) {
  for (uint32_t rounds : {6, 7, 10, 21}) {
    int winners = 0;
    const int kTrials = 400;
    for (int trial = 0; trial < kTrials; ++trial) {
      Speedup found = Machine(static_cast<uint64_t>(trial) * 1000 + rounds).compare(1, rounds, 5);
      winners += found.is_faster() || found.is_slower();
      EXPECT_LE(found.low, found.factor);
      EXPECT_GE(found.high, found.factor);
    }
    // One in twenty, and what such a number of trials may be off by (three standard deviations).
    EXPECT_LE(winners, kTrials * 0.05 + 3 * std::sqrt(kTrials * 0.05 * 0.95)) << rounds << " rounds";
  }
}

TEST(Speedup, FindsAKnownFactor) {
  int found_slower = 0, covered = 0;
  const int kTrials = 100;
  for (int trial = 0; trial < kTrials; ++trial) {
    Speedup found = Machine(static_cast<uint64_t>(trial)).compare(1.05, 15, 5);
    found_slower += found.is_slower();
    EXPECT_FALSE(found.is_faster());
    covered += found.low <= 1 / 1.05 && 1 / 1.05 <= found.high;
  }
  EXPECT_GE(found_slower, 95);
  EXPECT_GE(covered, 88);
}

TEST(Speedup, ABoundIsHeldAgainstTheWholeInterval) {
  Speedup slower{0.5, 0.45, 0.8, 10};
  EXPECT_TRUE(slower.is_slower());
  EXPECT_TRUE(slower.is_slower_than(1.2));
  EXPECT_FALSE(slower.is_slower_than(1.25)) << "it may be the bound itself";
  EXPECT_FALSE(slower.is_slower_than(2)) << "its upper end is within";
  EXPECT_FALSE((Speedup{0.5, 0.4, 1.1, 10}.is_slower_than(1))) << "within noise";
  EXPECT_FALSE((Speedup{0.1, 0, 0, 5}.is_slower_than(1.1))) << "of too few rounds nothing is told";
}

TEST(Speedup, IsTheSameEveryTime) {
  Speedup once = Machine(1).compare(1.1, 9, 3), again = Machine(1).compare(1.1, 9, 3);
  EXPECT_EQ(once.low, again.low);
  EXPECT_EQ(once.high, again.high);
  EXPECT_LT(once.low, once.high);
}

}  // namespace
}  // namespace mneme::verify
