// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How much faster one variant is than another, as far as their times can tell.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mneme::verify {

// In nanoseconds; 0 when there are none. Of an even number the mean of the two in the middle, rounded down.
uint64_t median(std::vector<uint64_t> nanoseconds);

// The standard error of the median by the median: of the times' median absolute deviation, so that an interrupted
// execution hardly changes it. Infinite for fewer than five times, and for a median of 0.
double median_error(std::vector<uint64_t> nanoseconds);

// Times far from the others: beyond three times the distance of the quartiles from either of them (Tukey's outer
// fences). They stay among the times: medians bear them.
uint64_t count_outliers(std::vector<uint64_t> nanoseconds);

// Times of the reference by those of a candidate: 2 is twice as fast.
struct Speedup {
  double factor = 0;         // median over the rounds, each of which gives the ratio of its medians
  double low = 0, high = 0;  // that median's 95 % confidence interval; both 0 of fewer rounds than kFewestRounds
  uint32_t rounds = 0;

  bool is_told() const { return rounds >= kFewestRounds; }
  bool is_faster() const { return is_told() && low > 1; }
  bool is_slower() const { return is_told() && high < 1; }
  // By more than so many times: all of the interval is beyond that.
  bool is_slower_than(double times) const { return is_told() && high * times < 1; }

  static constexpr uint32_t kFewestRounds = 6;  // of fewer, even the widest interval is no 95 % one
};

// Times of two variants that took turns: round after round, `rounds` of each, at least one. The interval is the
// bootstrap's percentile interval, of rounds drawn with repetition (the same draws every time), and no narrower than
// the one between order statistics that has its 95 % whatever the ratios are like. Both spans hold a whole number of
// times a round, at least one.
Speedup speedup(std::span<const uint64_t> reference, std::span<const uint64_t> candidate, uint32_t rounds);

}  // namespace mneme::verify
