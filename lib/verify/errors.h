// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The error of one element, and sums of errors. An error is a number from 0 on, or infinite; never NaN.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "verify/kernels/chunk.h"
#include "verify/kernels/modulus.h"

namespace mneme::verify {

inline constexpr double kInfinite = std::numeric_limits<double>::infinity();

struct ElementError {
  double absolute = 0;  // |r - e|
  double relative = 0;  // |r - e| / |e|; of an expected zero: 0 if r is zero too, else infinite
};

struct ScaledError {
  double scaled = 0;  // |r - e| / max(|e|, scale)
  double ulps = 0;    // steps from one number of the type to the next between e and r; of integers |r - e|
};

// How far a replayed r is from an expected e.
//
// Numbers that compare equal (0 and -0 too) are no error, nor are two NaNs, whatever their bits. A NaN against a number
// and an infinity against anything else are infinitely wrong.
inline ElementError error_between(double e, double r) {
  if (e == r || (std::isnan(e) && std::isnan(r))) return {};
  if (!std::isfinite(e) || !std::isfinite(r)) return {kInfinite, kInfinite};
  ElementError error;
  error.absolute = std::fabs(r - e);
  if (e == 0) {
    error.relative = kInfinite;
  } else if (std::isinf(error.absolute)) {
    error.relative = std::fabs(r / 2 - e / 2) / std::fabs(e / 2);  // the difference is no double, the quotient is
  } else {
    error.relative = error.absolute / std::fabs(e);
  }
  return error;
}

// Exact, then rounded up, so that no error passes for less than it is.
template <class T>
  requires std::is_integral_v<T>
ElementError error_between(T e, T r) {
  if (e == r) return {};
  using Unsigned = std::make_unsigned_t<T>;
  auto difference = r > e ? static_cast<Unsigned>(static_cast<Unsigned>(r) - static_cast<Unsigned>(e))
                          : static_cast<Unsigned>(static_cast<Unsigned>(e) - static_cast<Unsigned>(r));
  auto magnitude = e < 0 ? static_cast<Unsigned>(Unsigned{0} - static_cast<Unsigned>(e)) : static_cast<Unsigned>(e);
  auto absolute = static_cast<double>(difference);
  if (absolute < 0x1p64 && static_cast<uint64_t>(absolute) < difference) absolute = std::nextafter(absolute, kInfinite);
  return {absolute, magnitude == 0 ? kInfinite : absolute / static_cast<double>(magnitude)};
}

// |r - e| / max(|e|, scale), of a scale from 0 on. What is no error, or an infinite one, is so by any scale.
inline double scaled_error(double e, double r, double scale) {
  ElementError error = error_between(e, r);
  if (error.absolute == 0 || !std::isfinite(e) || !std::isfinite(r)) return error.absolute;
  double by = std::max(std::fabs(e), scale);
  return std::isinf(error.absolute) ? std::fabs(r / 2 - e / 2) / (by / 2) : error.absolute / by;
}

template <class T>
  requires std::is_integral_v<T>
double scaled_error(T e, T r, double scale) {
  double absolute = error_between(e, r).absolute;
  return absolute == 0 ? 0 : absolute / std::max(std::fabs(static_cast<double>(e)), scale);
}

// By the modulus of the difference, and that of the expected number.
inline ElementError error_between(std::complex<double> e, std::complex<double> r) {
  ElementError real = error_between(e.real(), r.real()), imaginary = error_between(e.imag(), r.imag());
  if (real.absolute == 0 && imaginary.absolute == 0) return {};
  ElementError error;
  error.absolute = modulus(real.absolute, imaginary.absolute);
  double size = modulus(std::fabs(e.real()), std::fabs(e.imag()));
  if (std::isfinite(error.absolute) && std::isfinite(size)) {
    error.relative = size == 0 ? kInfinite : error.absolute / size;
  } else if (std::isfinite(e.real()) && std::isfinite(e.imag()) && std::isfinite(r.real()) && std::isfinite(r.imag())) {
    e /= 4, r /= 4;
    error.relative = modulus(std::fabs(r.real() - e.real()), std::fabs(r.imag() - e.imag())) /
                     modulus(std::fabs(e.real()), std::fabs(e.imag()));
  } else {
    error.relative = kInfinite;
  }
  return error;
}

inline double scaled_error(std::complex<double> e, std::complex<double> r, double scale) {
  double absolute = error_between(e, r).absolute, size = modulus(std::fabs(e.real()), std::fabs(e.imag()));
  if (absolute == 0) return 0;
  if (std::isfinite(absolute) && std::isfinite(size)) return absolute / std::max(size, scale);
  bool finite =
      std::isfinite(e.real()) && std::isfinite(e.imag()) && std::isfinite(r.real()) && std::isfinite(r.imag());
  if (!finite) return kInfinite;
  e /= 4, r /= 4;
  return modulus(std::fabs(r.real() - e.real()), std::fabs(r.imag() - e.imag())) /
         std::max(modulus(std::fabs(e.real()), std::fabs(e.imag())), scale / 4);
}

// Neumaier's sum: as if in twice the precision, then rounded.
class Sum {
 public:
  void add(double value) {
    double sum = sum_ + value;
    correction_ += std::fabs(sum_) >= std::fabs(value) ? (sum_ - sum) + value : (value - sum) + sum_;
    sum_ = sum;
  }
  double value() const { return std::isfinite(sum_) ? sum_ + correction_ : sum_; }

 private:
  double sum_ = 0, correction_ = 0;
};

// The root of a sum of squares, of numbers of which the squares may be no doubles: as LAPACK's dnrm2 does it, with sums
// for the large, the small and the others (J. L. Blue, "A Portable Fortran Program to Find the Euclidean Norm of a
// Vector", ACM TOMS 4, 1978).
class RootOfSquares {
 public:
  // A sum of squares of numbers that were scaled before.
  void add(double squares, SquareScale scale) {
    (scale == kPlain ? plain_ : scale == kScaledDown ? large_ : small_).add(squares);
  }
  double value() const {
    double large = large_.value(), small = small_.value(), plain = plain_.value();
    if (large > 0) return std::sqrt(large + plain * kLargeScale * kLargeScale) / kLargeScale;
    if (small == 0) return std::sqrt(plain);
    return modulus(std::sqrt(plain), std::sqrt(small) / kSmallScale);
  }

 private:
  Sum large_, small_, plain_;
};

}  // namespace mneme::verify
