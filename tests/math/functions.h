// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the accuracy test asks of each function. The bounds are, in units in the last place from the correctly rounded
// result, those of HIP's documentation ("HIP math API", ROCm/HIP docs/reference/math_api.rst) over the ranges given
// there, and the table of the OpenCL C specification ("Relative Error as ULPs"), to which AMD's device library is
// built, over all numbers. Functions that neither has take the bounds of the CUDA C++ Programming Guide.
#pragma once

#include <vector>

#include "references.h"

// Computes the exact result, rounded to `result`'s precision, which is far above double's.
using Reference = void (*)(mpfr_t result, const mpfr_t x, const mpfr_t y, const mpfr_t z);

struct Bound {
  int documented;  // between low and high
  int anywhere;    // kUntested: for what the device library itself gets wrong
};
constexpr int kUntested = -1;

struct Function {
  const char* name;
  Reference reference;
  double low, high;  // the documented range of the arguments
  Bound single_precision;
  Bound double_precision;
  double floor = 0;  // below it errors are measured in units of this number's last place: for functions with zeros
  bool signed_zeros = true;  // whether a zero's sign counts
};

// Each list in the order in which a kernel stores the results.
namespace r = reference;
constexpr double kPi = 3.14159265358979;
constexpr int kNoBound = 1 << 30;  // nobody says anything about it: only special values are compared

inline const std::vector<Function> kTrigonometric = {
    {"sin", r::sin, -kPi, kPi, {1, 4}, {1, 4}},
    {"cos", r::cos, -kPi, kPi, {1, 4}, {1, 4}},
    {"tan", r::tan, -1.47 * kPi, 1.47 * kPi, {1, 5}, {1, 5}},
    {"sinpi", r::sinpi, -0.625, 0.625, {2, 4}, {2, 4}, 0, false},
    {"cospi", r::cospi, -0.3, 0.3, {1, 4}, {2, 4}, 0, false},
    {"asin", r::asin, -1, 1, {2, 4}, {1, 4}},
    {"acos", r::acos, -1, 1, {1, 4}, {1, 4}},
    {"atan", r::atan, -10, 10, {2, 5}, {1, 5}},
};

inline const std::vector<Function> kHyperbolic = {
    {"sinh", r::sinh, -5, 5, {1, 4}, {1, 4}},    {"cosh", r::cosh, -5, 5, {1, 4}, {1, 4}},
    {"tanh", r::tanh, -5, 5, {2, 5}, {1, 5}},    {"asinh", r::asinh, -10, 10, {1, 4}, {1, 4}},
    {"acosh", r::acosh, 1, 100, {1, 4}, {1, 4}}, {"atanh", r::atanh, -0.9, 0.9, {1, 5}, {1, 5}},
};

inline const std::vector<Function> kExponential = {
    {"exp", r::exp, -10, 10, {1, 3}, {1, 3}},       {"exp2", r::exp2, -10, 10, {1, 3}, {1, 3}},
    {"exp10", r::exp10, -4, 4, {1, 3}, {1, 3}},     {"expm1", r::expm1, -10, 10, {1, 3}, {1, 3}},
    {"log", r::log, 1e-6, 1e6, {2, 3}, {1, 3}},     {"log2", r::log2, 1e-6, 1e6, {1, 3}, {1, 3}},
    {"log10", r::log10, 1e-6, 1e6, {2, 3}, {1, 3}}, {"log1p", r::log1p, -0.9, 10, {1, 2}, {1, 2}},
};

inline const std::vector<Function> kRoots = {
    {"sqrt", r::sqrt, 0, 100, {1, 1}, {1, 1}},
    {"rsqrt", r::rsqrt, 0.01, 100, {1, 2}, {1, 2}},
    {"cbrt", r::cbrt, -100, 100, {2, 2}, {1, 2}},
    {"rcbrt", r::rcbrt, -100, 100, {1, 2}, {1, 2}},
};

inline const std::vector<Function> kErrors = {
    {"erf", r::erf, -4, 4, {4, 16}, {4, 16}},
    {"erfc", r::erfc, -4, 4, {2, 16}, {2, 16}},
    {"erfcx", r::erfcx, -2, 2, {5, 16}, {5, 16}},
    {"normcdf", r::normcdf, -5, 5, {5, 16}, {5, 16}},
};

inline const std::vector<Function> kInverseErrors = {
    {"erfinv", r::erfinv, -1, 1, {2, 16}, {5, 16}},
    {"erfcinv", r::erfcinv, 0, 2, {4, 16}, {6, 16}, 0, false},
    {"normcdfinv", r::normcdfinv, 0, 1, {5, 16}, {8, 16}, 0, false},
};

inline const std::vector<Function> kGammas = {
    {"tgamma", r::tgamma, 0.5, 15, {6, 16}, {6, 16}, 0, false},
    {"lgamma", r::lgamma, 0.5, 20, {4, kNoBound}, {2, kNoBound}, 0.125},
};

inline const std::vector<Function> kBessel = {
    {"j0", r::j0, -8, 8, {9, kNoBound}, {7, kNoBound}, 0.125},
    {"j1", r::j1, -8, 8, {9, kNoBound}, {7, kNoBound}, 0.125, false},
    {"y0", r::y0, 0, 8, {9, kNoBound}, {7, kNoBound}, 0.125},
    {"y1", r::y1, 0, 8, {9, kNoBound}, {7, kNoBound}, 0.125},
    {"cyl_bessel_i0", r::i0, -20, 20, {6, 6}, {6, 6}},
    {"cyl_bessel_i1", r::i1, 0, 20, {6, kUntested}, {6, kUntested}},
};

inline const std::vector<Function> kRounding = {
    {"ceil", r::ceil, -4, 4, {0, 0}, {0, 0}},      {"floor", r::floor, -4, 4, {0, 0}, {0, 0}},
    {"trunc", r::trunc, -4, 4, {0, 0}, {0, 0}},    {"rint", r::rint, -4, 4, {0, 0}, {0, 0}},
    {"nearbyint", r::rint, -4, 4, {0, 0}, {0, 0}}, {"round", r::round, -4, 4, {0, 0}, {0, 0}},
};

// Single precision only. The documentation gives no bound beyond the range.
inline const std::vector<Function> kFast = {
    {"__sinf", r::sin, -kPi, kPi, {18, kNoBound}, {}},
    {"__cosf", r::cos, -kPi, kPi, {4, kNoBound}, {}},
    // Documented are 1 and 6; the formulas in HIP's headers cannot keep that, whatever the instructions they use.
    {"__tanf", r::tan, -1.47 * kPi, 1.47 * kPi, {2, kNoBound}, {}},
    {"__expf", r::exp, -10, 10, {8, kNoBound}, {}},
    {"__exp10f", r::exp10, -4, 4, {18, kNoBound}, {}},
    {"__logf", r::log, 1e-6, 1e6, {2, kNoBound}, {}},
    {"__log2f", r::log2, 1e-6, 1e6, {1, kNoBound}, {}},
    {"__log10f", r::log10, 1e-6, 1e6, {2, kNoBound}, {}},
    {"__frsqrt_rn", r::rsqrt, 0.01, 100, {1, 2}, {}},
    {"__fsqrt_rn", r::sqrt, 0, 100, {1, 1}, {}},
    {"__frcp_rn", r::reciprocal, -100, 100, {0, 0}, {}},
};

inline const std::vector<Function> kBinary = {
    {"pow", r::pow, -4, 4, {1, 16}, {1, 16}},
    {"atan2", r::atan2, -4, 4, {1, 6}, {1, 6}},
    {"hypot", r::hypot, -10, 10, {1, 4}, {1, 4}},
    {"rhypot", r::rhypot, -100, 100, {1, 4}, {1, 4}},
    {"fmod", r::fmod, -10, 10, {0, 0}, {0, 0}},
    {"remainder", r::remainder, -10, 10, {0, 0}, {0, 0}},
    {"fdim", r::fdim, -10, 10, {0, 0}, {0, 0}},
    {"fmin", r::fmin, -10, 10, {0, 0}, {0, 0}, 0, false},
    {"fmax", r::fmax, -10, 10, {0, 0}, {0, 0}, 0, false},
    {"x / y", r::divide, -100, 100, {0, 0}, {0, 0}},
};

inline const std::vector<Function> kTernary = {
    {"fma", r::fma, -10, 10, {0, 0}, {0, 0}},
    {"norm3d", r::norm3d, -10, 10, {1, 4}, {1, 4}},
    {"rnorm3d", r::rnorm3d, -10, 10, {1, 4}, {1, 4}},
};
