// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the accuracy test asks of each function: the largest error in units in the last place of the correctly rounded
// result, and who says so.
#pragma once

#include <vector>

#include "references.h"

// Computes the exact result, rounded to `result`'s precision, which is far above double's.
using Reference = void (*)(mpfr_t result, const mpfr_t x, const mpfr_t y, const mpfr_t z);

struct Limit {
  enum Kind {
    kEverywhere,  // no error is larger than `value` units
    kAtWorst,     // the one that is largest as a number is no larger than `value` units: all that HIP's page says
    kAbsolute,    // none is larger than `value`, as a number
    kNone,        // only NaN, infinities and the signs of zeros are compared
    kUntested,    // what the device library itself gets wrong
  };
  Kind kind = kNone;
  double value = 0;
  const char* source = "";
};

// "HIP math API", https://rocm.docs.amd.com/projects/HIP/en/latest/reference/math_api.html, whose tables have the names
// of the lists below. It measures differences from the C++ library where the absolute error is largest; no function
// here needs that leniency but those that say at_worst.
constexpr Limit hip(double ulps) { return {Limit::kEverywhere, ulps, "HIP"}; }
constexpr Limit hip_at_worst(double ulps) { return {Limit::kAtWorst, ulps, "HIP"}; }
// The OpenCL C specification, "Relative Error as ULPs", tables for single and double precision: what AMD's device
// library is built to.
constexpr Limit opencl(double ulps) { return {Limit::kEverywhere, ulps, "OpenCL"}; }
// The CUDA C++ Programming Guide, "Mathematical Functions", tables "… Mathematical Standard Library Functions with
// Maximum ULP Error" of single and double precision.
constexpr Limit cuda(double ulps) { return {Limit::kEverywhere, ulps, "CUDA"}; }
constexpr Limit cuda_absolute(double error) { return {Limit::kAbsolute, error, "CUDA"}; }
// Exact by its definition in C or IEEE 754.
constexpr Limit exact() { return {Limit::kEverywhere, 0, "IEEE 754"}; }
// Nobody says anything.
constexpr Limit nobody() { return {Limit::kNone, 0, ""}; }
constexpr Limit untested() { return {Limit::kUntested, 0, ""}; }

struct Bound {
  Limit inside;    // between low and high
  Limit anywhere;  // of every number, the special ones included
};

struct Function {
  const char* name;
  Reference reference;
  double low, high;  // the range that the documentation of the inside limit gives for the arguments, or more
  Bound single_precision;
  Bound double_precision;
  double floor = 0;  // below it errors are measured in units of this number's last place: for functions with zeros
  bool signed_zeros = true;  // whether a zero's sign counts
};

// Each list in the order in which a kernel stores the results.
namespace r = reference;
constexpr double kPi = 3.14159265358979;

// "Trigonometric and Hyperbolic".
inline const std::vector<Function> kTrigonometric = {
    {"sin", r::sin, -kPi, kPi, {hip(1), opencl(4)}, {hip(1), opencl(4)}},
    {"cos", r::cos, -kPi, kPi, {hip(1), opencl(4)}, {hip(1), opencl(4)}},
    {"tan", r::tan, -1.47 * kPi, 1.47 * kPi, {hip(1), opencl(5)}, {hip(1), opencl(5)}},
    {"sinpi", r::sinpi, -0.625, 0.625, {hip(2), opencl(4)}, {hip(2), opencl(4)}, 0, false},
    {"cospi", r::cospi, -0.3, 0.3, {hip(1), opencl(4)}, {hip(2), opencl(4)}, 0, false},
    {"sincos: sine", r::sin, -3, 3, {hip(1), opencl(4)}, {hip(1), opencl(4)}},
    {"sincos: cosine", r::cos, -3, 3, {hip(1), opencl(4)}, {hip(1), opencl(4)}},
    {"sincospi: sine", r::sinpi, -0.3, 0.3, {hip(2), opencl(4)}, {hip(2), opencl(4)}, 0, false},
    {"sincospi: cosine", r::cospi, -0.3, 0.3, {hip(1), opencl(4)}, {hip(2), opencl(4)}, 0, false},
    {"asin", r::asin, -1, 1, {hip(2), opencl(4)}, {hip(1), opencl(4)}},
    {"acos", r::acos, -1, 1, {hip(1), opencl(4)}, {hip(1), opencl(4)}},
    {"atan", r::atan, -10, 10, {hip(2), opencl(5)}, {hip(1), opencl(5)}},
};

inline const std::vector<Function> kHyperbolic = {
    {"sinh", r::sinh, -5, 5, {hip(1), opencl(4)}, {hip(1), opencl(4)}},
    {"cosh", r::cosh, -5, 5, {hip(1), opencl(4)}, {hip(1), opencl(4)}},
    {"tanh", r::tanh, -5, 5, {hip(2), opencl(5)}, {hip(1), opencl(5)}},
    {"asinh", r::asinh, -10, 10, {hip(1), opencl(4)}, {hip(1), opencl(4)}},
    {"acosh", r::acosh, 1, 100, {hip(1), opencl(4)}, {hip(1), opencl(4)}},
    {"atanh", r::atanh, -0.9, 0.9, {hip(1), opencl(5)}, {hip(1), opencl(5)}},
};

// "Exponential and Logarithmic".
inline const std::vector<Function> kExponential = {
    {"exp", r::exp, -10, 10, {hip(1), opencl(3)}, {hip(1), opencl(3)}},
    {"exp2", r::exp2, -10, 10, {hip(1), opencl(3)}, {hip(1), opencl(3)}},
    {"exp10", r::exp10, -4, 4, {hip(1), opencl(3)}, {hip(1), opencl(3)}},
    {"expm1", r::expm1, -10, 10, {hip(1), opencl(3)}, {hip(1), opencl(3)}},
    {"log", r::log, 1e-6, 1e6, {hip(2), opencl(3)}, {hip(1), opencl(3)}},
    {"log2", r::log2, 1e-6, 1e6, {hip(1), opencl(3)}, {hip(1), opencl(3)}},
    {"log10", r::log10, 1e-6, 1e6, {hip(2), opencl(3)}, {hip(1), opencl(3)}},
    {"log1p", r::log1p, -0.9, 10, {hip(1), opencl(2)}, {hip(1), opencl(2)}},
};

// "Power and Root". (OpenCL allows 3 units for the square root of a float; HIP compiles it correctly rounded.)
inline const std::vector<Function> kRoots = {
    {"sqrt", r::sqrt, 0, 100, {hip(1), exact()}, {hip(1), exact()}},
    {"rsqrt", r::rsqrt, 0.01, 100, {hip(1), opencl(2)}, {hip(1), opencl(2)}},
    {"cbrt", r::cbrt, -100, 100, {hip(2), opencl(2)}, {hip(1), opencl(2)}},
    {"rcbrt", r::rcbrt, -100, 100, {hip(1), cuda(1)}, {hip(1), cuda(1)}},
};

// "Error and Gamma", and what HIP's page has without a bound.
inline const std::vector<Function> kErrors = {
    {"erf", r::erf, -4, 4, {hip(4), opencl(16)}, {hip(4), opencl(16)}},
    {"erfc", r::erfc, -4, 4, {hip(2), opencl(16)}, {hip(2), opencl(16)}},
    {"erfcx", r::erfcx, -2, 2, {hip(5), cuda(4)}, {hip(5), cuda(4)}},
    {"normcdf", r::normcdf, -5, 5, {cuda(5), cuda(5)}, {cuda(5), cuda(5)}},
};

inline const std::vector<Function> kInverseErrors = {
    {"erfinv", r::erfinv, -1, 1, {cuda(2), cuda(2)}, {cuda(5), cuda(5)}},
    {"erfcinv", r::erfcinv, 0, 2, {cuda(4), cuda(4)}, {cuda(6), cuda(6)}, 0, false},
    {"normcdfinv", r::normcdfinv, 0, 1, {cuda(5), cuda(5)}, {cuda(8), cuda(8)}, 0, false},
};

inline const std::vector<Function> kGammas = {
    {"tgamma", r::tgamma, 0.5, 15, {hip(6), opencl(16)}, {hip(6), opencl(16)}, 0, false},
    {"lgamma", r::lgamma, 0.5, 20, {hip(4), nobody()}, {hip(2), nobody()}, 0.125},
};

// Without a bound on HIP's page. CUDA bounds jn and yn for one order only; 2 is what people use. The header computes
// them by a recurrence, which makes NaN of a zero.
inline const std::vector<Function> kBessel = {
    {"j0", r::j0, -8, 8, {cuda(9), cuda_absolute(2.2e-6)}, {cuda(7), cuda_absolute(5e-12)}, 0.125},
    {"j1", r::j1, -8, 8, {cuda(9), cuda_absolute(2.2e-6)}, {cuda(7), cuda_absolute(5e-12)}, 0.125, false},
    {"y0", r::y0, 0, 8, {cuda(9), cuda_absolute(2.2e-6)}, {cuda(7), cuda_absolute(5e-12)}, 0.125},
    {"y1", r::y1, 0, 8, {cuda(9), cuda_absolute(2.2e-6)}, {cuda(7), cuda_absolute(5e-12)}, 0.125},
    {"jn(2, x)", r::j2, 2, 20, {cuda_absolute(2.2e-6), untested()}, {cuda_absolute(5e-12), untested()}},
    {"yn(2, x)", r::y2, 3, 20, {cuda_absolute(2.2e-6), untested()}, {cuda_absolute(5e-12), untested()}},
    {"cyl_bessel_i0", r::i0, -20, 20, {cuda(6), cuda(6)}, {cuda(6), cuda(6)}},
    {"cyl_bessel_i1", r::i1, 0, 20, {cuda(6), untested()}, {cuda(6), untested()}},
};

// "Rounding".
inline const std::vector<Function> kRounding = {
    {"ceil", r::ceil, -4, 4, {hip(0), exact()}, {hip(0), exact()}},
    {"floor", r::floor, -4, 4, {hip(0), exact()}, {hip(0), exact()}},
    {"trunc", r::trunc, -4, 4, {hip(0), exact()}, {hip(0), exact()}},
    {"rint", r::rint, -4, 4, {hip(0), exact()}, {hip(0), exact()}},
    {"nearbyint", r::rint, -4, 4, {hip(0), exact()}, {hip(0), exact()}},
    {"round", r::round, -4, 4, {hip(0), exact()}, {hip(0), exact()}},
};

// "Power and Root", "Trigonometric and Hyperbolic", "Hypotenuse and Norm", "Arithmetic".
inline const std::vector<Function> kBinary = {
    {"pow", r::pow, -4, 4, {hip(1), opencl(16)}, {hip(1), opencl(16)}},
    {"powi", r::powi, -10, 10, {hip(1), opencl(16)}, {hip(1), opencl(16)}},
    {"atan2", r::atan2, -4, 4, {hip(1), opencl(6)}, {hip(1), opencl(6)}},
    {"hypot", r::hypot, -10, 10, {hip(1), opencl(4)}, {hip(1), opencl(4)}},
    {"rhypot", r::rhypot, -100, 100, {hip(1), cuda(2)}, {hip(1), cuda(1)}},
    {"fmod", r::fmod, -10, 10, {hip(0), exact()}, {hip(0), exact()}},
    {"remainder", r::remainder, -10, 10, {hip(0), exact()}, {hip(0), exact()}},
    {"fdim", r::fdim, -10, 10, {hip(0), exact()}, {hip(0), exact()}},
    {"fmin", r::fmin, -10, 10, {hip(0), exact()}, {hip(0), exact()}, 0, false},
    {"fmax", r::fmax, -10, 10, {hip(0), exact()}, {hip(0), exact()}, 0, false},
    {"x / y", r::divide, -100, 100, {exact(), exact()}, {exact(), exact()}},
};

// "Arithmetic", "Hypotenuse and Norm". HIP's header computes norm and rnorm as written: large squares overflow.
inline const std::vector<Function> kTernary = {
    {"fma", r::fma, -10, 10, {hip(0), exact()}, {hip(0), exact()}},
    {"norm3d", r::norm3d, -10, 10, {hip(1), cuda(3)}, {hip(1), cuda(2)}},
    {"rnorm3d", r::rnorm3d, -10, 10, {hip(1), cuda(2)}, {hip(1), cuda(1)}},
    {"norm4d", r::norm4d, -10, 10, {hip(2), cuda(3)}, {hip(2), cuda(2)}},
    {"rnorm4d", r::rnorm4d, -10, 10, {hip(2), cuda(2)}, {hip(1), cuda(1)}},
    {"norm", r::norm3d, -10, 10, {hip(1), untested()}, {hip(1), untested()}},
    {"rnorm", r::rnorm3d, -10, 10, {hip_at_worst(1), untested()}, {hip(1), untested()}},
};

// "Floating-point Intrinsics" of single and double precision.
inline const std::vector<Function> kRounded = {
    {"add_rn", r::add, -1000, 1000, {hip(0), exact()}, {hip(0), exact()}},
    {"sub_rn", r::sub, -1000, 1000, {hip(0), exact()}, {hip(0), exact()}},
    {"mul_rn", r::mul, -100, 100, {hip(0), exact()}, {hip(0), exact()}},
    {"div_rn", r::divide, -100, 100, {hip(0), exact()}, {hip(0), exact()}},
    {"rcp_rn", r::reciprocal, -100, 100, {hip(0), exact()}, {hip(0), exact()}},
    {"sqrt_rn", r::sqrt, 0, 100, {hip(1), exact()}, {hip(0), exact()}},
    {"fma_rn", r::fma, -100, 100, {hip(0), exact()}, {hip(0), exact()}},
};

// The same, of single precision only. HIP gives no bound beyond the range.
inline const std::vector<Function> kFast = {
    {"__sinf", r::sin, -kPi, kPi, {hip(18), nobody()}, {}},
    {"__cosf", r::cos, -kPi, kPi, {hip(4), nobody()}, {}},
    {"__tanf", r::tan, -1.47 * kPi, 1.47 * kPi, {hip_at_worst(1), nobody()}, {}},
    {"__sincosf: sine", r::sin, -3, 3, {hip(18), nobody()}, {}},
    {"__sincosf: cosine", r::cos, -3, 3, {hip(4), nobody()}, {}},
    {"__expf", r::exp, -10, 10, {hip_at_worst(6), nobody()}, {}},
    {"__exp10f", r::exp10, -4, 4, {hip(18), nobody()}, {}},
    {"__logf", r::log, 1e-6, 1e6, {hip(2), nobody()}, {}},
    {"__log2f", r::log2, 1e-6, 1e6, {hip(1), nobody()}, {}},
    {"__log10f", r::log10, 1e-6, 1e6, {hip(2), nobody()}, {}},
    {"__powf", r::pow, -4, 4, {hip(1), nobody()}, {}},
    {"__frsqrt_rn", r::rsqrt, 0.01, 100, {hip(1), opencl(2)}, {}},
    {"__saturatef", r::saturate, -2, 3, {hip(0), exact()}, {}},
    {"fdividef", r::divide, -100, 100, {hip(0), exact()}, {}},
    {"__fdividef", r::divide, -100, 100, {exact(), exact()}, {}},
};
