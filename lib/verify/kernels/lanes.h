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
  Numbers absolute, relative;
  Numbers absolute_squares, relative_squares;
  Numbers most_absolute, most_relative;

  // One element's; the factors are for what is squared.
  MNEME_DEVICE void add(const ErrorPair<kCount>& error, double absolute_factor = 1, double relative_factor = 1) {
    Numbers scaled_absolute = error.absolute * absolute_factor, scaled_relative = error.relative * relative_factor;
    absolute += error.absolute;
    relative += error.relative;
    absolute_squares = __builtin_elementwise_fma(scaled_absolute, scaled_absolute, absolute_squares);
    relative_squares = __builtin_elementwise_fma(scaled_relative, scaled_relative, relative_squares);
    most_absolute = larger(most_absolute, error.absolute);
    most_relative = larger(most_relative, error.relative);
  }

  // Another lane's.
  MNEME_DEVICE void operator+=(const Errors& other) {
    absolute += other.absolute;
    relative += other.relative;
    absolute_squares += other.absolute_squares;
    relative_squares += other.relative_squares;
    most_absolute = larger(most_absolute, other.most_absolute);
    most_relative = larger(most_relative, other.most_relative);
  }
};

// One lane's, for what is rare, in little code.
template <class Format>
MNEME_DEVICE inline Errors<1> look_carefully(const typename Format::Element* expected,
                                             const typename Format::Element* replayed, double absolute_factor = 1,
                                             double relative_factor = 1) {
  Errors<1> errors{};
#pragma nounroll
  for (unsigned i = 0; i < kGroup; i++) {
    errors.add(Format::careful(expected[i * kLanes], replayed[i * kLanes]), absolute_factor, relative_factor);
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
