// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/speedup.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <utility>

namespace mneme::verify {
namespace {

double median_of(std::span<double> values) {
  const size_t middle = values.size() / 2;
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(middle));
  double high = values[middle];
  if (values.size() % 2) return high;
  return (std::ranges::max(values.first(middle)) + high) / 2;
}

std::vector<double> ratios_of_rounds(std::span<const uint64_t> reference, std::span<const uint64_t> candidate,
                                     uint32_t rounds) {
  auto median_in = [&](std::span<const uint64_t> times, uint32_t round) {
    const size_t each = times.size() / rounds;
    auto part = times.subspan(round * each, each);
    return static_cast<double>(std::max<uint64_t>(median({part.begin(), part.end()}), 1));
  };
  std::vector<double> ratios;
  for (uint32_t round = 0; round < rounds; ++round) {
    ratios.push_back(median_in(reference, round) / median_in(candidate, round));
  }
  return ratios;
}

// How many of the smallest, and of the largest, of so many values lie outside of an interval that has the median of
// what they are drawn from in it with 95 %, whatever that is like: the median is as often above a value as below it.
size_t outside_of_interval(size_t values) {
  const double n = static_cast<double>(values);
  double below = 0;
  for (size_t k = 0; k < values; ++k) {
    const double at = static_cast<double>(k);
    below += std::exp(std::lgamma(n + 1) - std::lgamma(at + 1) - std::lgamma(n - at + 1) - n * std::log(2));
    if (2 * below > 0.05) return k - 1;  // there are kFewestRounds at least
  }
  return 0;
}

}  // namespace

uint64_t median(std::vector<uint64_t> nanoseconds) {
  if (nanoseconds.empty()) return 0;
  std::ranges::sort(nanoseconds);
  size_t middle = nanoseconds.size() / 2;
  if (nanoseconds.size() % 2) return nanoseconds[middle];
  uint64_t low = nanoseconds[middle - 1], high = nanoseconds[middle];
  return low + (high - low) / 2;
}

double median_error(std::vector<uint64_t> nanoseconds) {
  constexpr size_t kFewest = 5;
  constexpr double kSigmaOfDeviation = 1.4826;  // of a normal distribution, by its median absolute deviation
  const double kErrorOfMedian = std::sqrt(std::numbers::pi / 2);  // by that of the mean
  const uint64_t middle = median(nanoseconds);
  if (nanoseconds.size() < kFewest || middle == 0) return std::numeric_limits<double>::infinity();
  const double root = std::sqrt(static_cast<double>(nanoseconds.size()));
  for (uint64_t& time : nanoseconds) time = time > middle ? time - middle : middle - time;
  const auto deviation = static_cast<double>(median(std::move(nanoseconds)));
  return kErrorOfMedian * kSigmaOfDeviation * deviation / root / static_cast<double>(middle);
}

uint64_t count_outliers(std::vector<uint64_t> nanoseconds) {
  if (nanoseconds.empty()) return 0;
  std::ranges::sort(nanoseconds);
  auto quartile = [&](size_t quarters) {
    return static_cast<double>(nanoseconds[(nanoseconds.size() - 1) * quarters / 4]);
  };
  const double low = quartile(1), high = quartile(3), far = 3 * (high - low);
  return static_cast<uint64_t>(std::ranges::count_if(nanoseconds, [&](uint64_t time) {
    return static_cast<double>(time) < low - far || static_cast<double>(time) > high + far;
  }));
}

Speedup speedup(std::span<const uint64_t> reference, std::span<const uint64_t> candidate, uint32_t rounds) {
  std::vector<double> ratios = ratios_of_rounds(reference, candidate, rounds);
  std::vector<double> drawn = ratios;
  Speedup result{median_of(drawn), 0, 0, rounds};
  if (!result.is_told()) return result;

  std::mt19937_64 random(0x6D6E656D65);  // whoever looks again sees the same
  // Of very many rounds the interval is narrow however few draws there are.
  const size_t draws = std::clamp<size_t>(40'000'000 / rounds, 400, 4000);
  std::vector<double> medians;
  for (size_t i = 0; i < draws; ++i) {
    for (double& ratio : drawn) ratio = ratios[random() % ratios.size()];
    medians.push_back(median_of(drawn));
  }
  std::ranges::sort(medians);
  // Of few rounds the bootstrap's interval of a median is too narrow.
  std::ranges::sort(ratios);
  const size_t outside = outside_of_interval(ratios.size());
  result.low = std::min(medians[draws / 40], ratios[outside]);
  result.high = std::max(medians[draws - 1 - draws / 40], ratios[ratios.size() - 1 - outside]);
  return result;
}

}  // namespace mneme::verify
