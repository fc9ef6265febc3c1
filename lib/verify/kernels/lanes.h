// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What lanes add up (chunk.h).
#pragma once
#include "chunk.h"
#include "element_format.h"

namespace mneme::verify {

// What kCount lanes have seen of their elements, or a part of them.
template <unsigned kCount>
struct Errors {
  using Numbers = Many<double, kCount>;
  Numbers first, second;
  Numbers first_squares, second_squares;
  Numbers most_first, most_second;

  // One element's; the factors are for what is squared.
  MNEME_DEVICE void add(const ErrorPair<kCount>& error, double first_factor = 1, double second_factor = 1) {
    Numbers scaled_first = error.first * first_factor, scaled_second = error.second * second_factor;
    first += error.first;
    second += error.second;
    first_squares = __builtin_elementwise_fma(scaled_first, scaled_first, first_squares);
    second_squares = __builtin_elementwise_fma(scaled_second, scaled_second, second_squares);
    most_first = larger(most_first, error.first);
    most_second = larger(most_second, error.second);
  }

  // Another lane's.
  MNEME_DEVICE void operator+=(const Errors& other) {
    first += other.first;
    second += other.second;
    first_squares += other.first_squares;
    second_squares += other.second_squares;
    most_first = larger(most_first, other.most_first);
    most_second = larger(most_second, other.most_second);
  }
};

// One lane's, for what is rare, in little code.
template <class Format, class Measure>
MNEME_DEVICE inline Errors<1> look_carefully(Measure measure, const typename Format::Element* expected,
                                             const typename Format::Element* replayed, double first_factor = 1,
                                             double second_factor = 1) {
  Errors<1> errors{};
#pragma nounroll
  for (unsigned i = 0; i < kGroup; i++) {
    errors.add(measure.template careful<Format>(expected[i * kLanes], replayed[i * kLanes]), first_factor,
               second_factor);
  }
  return errors;
}

// What squares are scaled by, by the largest error.
MNEME_DEVICE inline SquareScale scale_for(double largest) {
  if (largest > kLargeError && largest < kInfinity) return kScaledDown;
  return largest < kSmallError && largest > 0 ? kScaledUp : kPlain;
}

MNEME_DEVICE inline double factor_of(SquareScale scale) {
  return scale == kPlain ? 1.0 : scale == kScaledDown ? kLargeScale : kSmallScale;
}

}  // namespace mneme::verify
