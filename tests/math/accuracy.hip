// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every mathematical function of HIP, on arguments of its documented range, of every magnitude, and special ones,
// against MPFR. With -v prints the largest error of each.

#include "../programs/check.h"
#include "functions.h"

#include <algorithm>
#include <limits>
#include <utility>

template <class T>
struct Arguments {
  const T *x, *y, *z;
};

// Overloads where HIP has two names, of one argument and of several.
#define BOTH(name)                                                  \
  __device__ inline float name##_of(float x) { return name##f(x); } \
  __device__ inline double name##_of(double x) { return name(x); }
#define SEVERAL(of, float_name, double_name)     \
  template <class... More>                       \
  __device__ float of(float x, More... more) {   \
    return float_name(x, more...);               \
  }                                              \
  template <class... More>                       \
  __device__ double of(double x, More... more) { \
    return double_name(x, more...);              \
  }
BOTH(sinpi)
BOTH(cospi)
BOTH(rsqrt)
BOTH(rcbrt)
BOTH(erfcx)
BOTH(normcdf)
BOTH(erfinv)
BOTH(erfcinv)
BOTH(normcdfinv)
BOTH(exp10)
BOTH(j0)
BOTH(j1)
BOTH(y0)
BOTH(y1)
BOTH(cyl_bessel_i0)
BOTH(cyl_bessel_i1)
SEVERAL(rhypot_of, rhypotf, rhypot)
SEVERAL(norm3d_of, norm3df, norm3d)
SEVERAL(rnorm3d_of, rnorm3df, rnorm3d)
SEVERAL(norm4d_of, norm4df, norm4d)
SEVERAL(rnorm4d_of, rnorm4df, rnorm4d)
SEVERAL(add_rn, __fadd_rn, __dadd_rn)
SEVERAL(sub_rn, __fsub_rn, __dsub_rn)
SEVERAL(mul_rn, __fmul_rn, __dmul_rn)
SEVERAL(div_rn, __fdiv_rn, __ddiv_rn)
SEVERAL(rcp_rn, __frcp_rn, __drcp_rn)
SEVERAL(sqrt_rn, __fsqrt_rn, __dsqrt_rn)
SEVERAL(fma_rn, __fmaf_rn, __fma_rn)
#undef BOTH
#undef SEVERAL

__device__ inline float norm_of(float x, float y, float z) {
  float all[] = {x, y, z};
  return normf(3, all);
}
__device__ inline double norm_of(double x, double y, double z) {
  double all[] = {x, y, z};
  return norm(3, all);
}
__device__ inline float rnorm_of(float x, float y, float z) {
  float all[] = {x, y, z};
  return rnormf(3, all);
}
__device__ inline double rnorm_of(double x, double y, double z) {
  double all[] = {x, y, z};
  return rnorm(3, all);
}
__device__ inline float bessel_j(int n, float x) { return jnf(n, x); }
__device__ inline double bessel_j(int n, double x) { return jn(n, x); }
__device__ inline float bessel_y(int n, float x) { return ynf(n, x); }
__device__ inline double bessel_y(int n, double x) { return yn(n, x); }

template <class T>
struct Pair {
  T sine, cosine;
};
__device__ inline Pair<float> sincos_of(float x) {
  Pair<float> both;
  sincosf(x, &both.sine, &both.cosine);
  return both;
}
__device__ inline Pair<double> sincos_of(double x) {
  Pair<double> both;
  sincos(x, &both.sine, &both.cosine);
  return both;
}
__device__ inline Pair<float> sincospi_of(float x) {
  Pair<float> both;
  sincospif(x, &both.sine, &both.cosine);
  return both;
}
__device__ inline Pair<double> sincospi_of(double x) {
  Pair<double> both;
  sincospi(x, &both.sine, &both.cosine);
  return both;
}
__device__ inline Pair<float> fast_sincos(float x) {
  Pair<float> both;
  __sincosf(x, &both.sine, &both.cosine);
  return both;
}

template <class T>
__device__ T powi_of(T x, T y) {
  int n = y > T(-5) && y < T(5) ? static_cast<int>(y) : 2;
  if constexpr (sizeof(T) == 4) return powif(x, n);
  return powi(x, n);
}

// A kernel that evaluates several functions: out[f * n + i] is function f of element i.
#define KERNEL(kernel, ...)                                                                \
  template <class T>                                                                       \
  __global__ void kernel(Arguments<T> arguments, T* out, int n) {                          \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                                         \
    if (i >= n) return;                                                                    \
    T x = arguments.x[i], y = arguments.y[i], z = arguments.z[i];                          \
    (void)y, (void)z;                                                                      \
    T results[] = {__VA_ARGS__};                                                           \
    for (unsigned f = 0; f < sizeof results / sizeof(T); ++f) out[f * n + i] = results[f]; \
  }

KERNEL(trigonometric, sin(x), cos(x), tan(x), sinpi_of(x), cospi_of(x), sincos_of(x).sine, sincos_of(x).cosine,
       sincospi_of(x).sine, sincospi_of(x).cosine, asin(x), acos(x), atan(x))
KERNEL(hyperbolic, sinh(x), cosh(x), tanh(x), asinh(x), acosh(x), atanh(x))
KERNEL(exponential, exp(x), exp2(x), exp10_of(x), expm1(x), log(x), log2(x), log10(x), log1p(x))
KERNEL(roots, sqrt(x), rsqrt_of(x), cbrt(x), rcbrt_of(x))
KERNEL(errors, erf(x), erfc(x), erfcx_of(x), normcdf_of(x))
KERNEL(inverse_errors, erfinv_of(x), erfcinv_of(x), normcdfinv_of(x))
KERNEL(gammas, tgamma(x), lgamma(x))
KERNEL(bessel, j0_of(x), j1_of(x), y0_of(x), y1_of(x), bessel_j(2, x), bessel_y(2, x), cyl_bessel_i0_of(x),
       cyl_bessel_i1_of(x))
KERNEL(rounding, ceil(x), floor(x), trunc(x), rint(x), nearbyint(x), round(x))
KERNEL(rounded_to_nearest, add_rn(x, y), sub_rn(x, y), mul_rn(x, y), div_rn(x, y), rcp_rn(x), sqrt_rn(x),
       fma_rn(x, y, z))
KERNEL(fast, __sinf(x), __cosf(x), __tanf(x), fast_sincos(x).sine, fast_sincos(x).cosine, __expf(x), __exp10f(x),
       __logf(x), __log2f(x), __log10f(x), __powf(x, y), __frsqrt_rn(x), __saturatef(x), fdividef(x, y),
       __fdividef(x, y))
KERNEL(binary, pow(x, y), powi_of(x, y), atan2(x, y), hypot(x, y), rhypot_of(x, y), fmod(x, y), remainder(x, y),
       fdim(x, y), fmin(x, y), fmax(x, y), x / y)
KERNEL(ternary, fma(x, y, z), norm3d_of(x, y, z), rnorm3d_of(x, y, z), norm4d_of(x, y, z, x), rnorm4d_of(x, y, z, x),
       norm_of(x, y, z), rnorm_of(x, y, z))
#undef KERNEL

static bool verbose = false;

// Arguments: half from the range, a quarter of any magnitude, the others special.
template <class T>
std::vector<T> arguments(Random& random, int n, double low, double high) {
  using Limits = std::numeric_limits<T>;
  const std::vector<T> special = {0,
                                  T(-0.0),
                                  1,
                                  -1,
                                  T(0.5),
                                  T(-0.5),
                                  2,
                                  -2,
                                  3,
                                  T(1.5),
                                  T(-2.5),
                                  10,
                                  100,
                                  -100,
                                  std::nextafter(T(1), T(0)),
                                  std::nextafter(T(1), T(2)),
                                  Limits::infinity(),
                                  -Limits::infinity(),
                                  Limits::quiet_NaN(),
                                  Limits::min(),
                                  Limits::denorm_min(),
                                  -Limits::denorm_min(),
                                  Limits::max(),
                                  Limits::lowest(),
                                  T(1e5),
                                  T(1e10),
                                  T(3.14159265358979323846),
                                  T(1.57079632679489661923),
                                  T(0.69314718055994530942)};
  std::vector<T> values(n);
  for (int i = 0; i < n; ++i) {
    if (i % 4 == 0) {
      values[i] = special[random.below(special.size())];
    } else if (i % 4 == 1) {
      std::uint64_t bits = random.bits();
      std::memcpy(&values[i], &bits, sizeof(T));
    } else {
      values[i] = static_cast<T>(random.between(low, high));
    }
  }
  return values;
}

// Numbers in order, the distance between neighbours being one.
static std::int64_t place(float x) {
  std::int32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits < 0 ? -static_cast<std::int64_t>(bits & 0x7fffffff) : bits;
}

static std::int64_t place(double x) {
  std::int64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits < 0 ? -(bits & 0x7fffffffffffffff) : bits;
}

static float rounded(mpfr_t exact, float) { return mpfr_get_flt(exact, MPFR_RNDN); }
static double rounded(mpfr_t exact, double) { return mpfr_get_d(exact, MPFR_RNDN); }

// In units in the last place of what the exact result rounds to; infinite for a NaN, an infinity or a zero's sign
// out of place.
template <class T>
double error(T got, T want, const Function& function) {
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) == std::isnan(got) ? 0 : kWrong;
  if (got == 0 && want == 0) {
    return !function.signed_zeros || std::signbit(got) == std::signbit(want) ? 0 : kWrong;
  }
  T floor = static_cast<T>(function.floor);
  if (std::fabs(want) < floor && std::isfinite(got)) {
    T unit = std::nextafter(floor, T(2) * floor) - floor;
    return std::fabs(static_cast<double>(got) - static_cast<double>(want)) / unit;
  }
  return std::fabs(static_cast<double>(place(got) - place(want)));
}

// The largest errors among some arguments.
struct Worst {
  double units = 0;     // the largest in units in the last place
  double absolute = 0;  // the largest as a number
  double units_there = 0;
  std::string at, at_absolute;

  template <class T>
  void note(double off, T x, T y, T z, T got, T want) {
    char text[200];
    std::snprintf(text, sizeof text, "(%a, %a, %a) is %a, not %a: %g units", x, y, z, got, want, off);
    if (off > units) units = off, at = text;
    double distance = off == 0 ? 0 : std::fabs(static_cast<double>(got) - static_cast<double>(want));
    if (distance > absolute) absolute = distance, units_there = off, at_absolute = text;
  }

  // What the limit is about, and where.
  std::pair<double, std::string> measured(const Limit& limit) const {
    if (limit.kind == Limit::kAtWorst) return {units_there, at_absolute};
    if (limit.kind == Limit::kAbsolute) return {absolute, at_absolute};
    return {units, at};
  }
};

void compare(Test& test, const std::string& name, const char* where, const Limit& limit, const Worst& worst) {
  if (limit.kind == Limit::kUntested) return;
  auto [measured, at] = worst.measured(limit);
  bool holds = limit.kind == Limit::kNone ? std::isfinite(measured) : measured <= limit.value;
  if (verbose) {
    std::printf("%-24s %-8s %8.3g", name.c_str(), where, measured);
    if (limit.kind != Limit::kNone) std::printf(" of %g by %s", limit.value, limit.source);
    std::printf(holds ? "\n" : "  !! %s\n", at.c_str());
  }
  test.expect(holds, name + at);
}

template <class T>
void judge(Test& test, const Function& function, const std::vector<T> (&in)[3], const T* got, int n) {
  mpfr_t exact, x, y, z;
  mpfr_init2(exact, 128);
  mpfr_inits2(53, x, y, z, static_cast<mpfr_ptr>(nullptr));
  Worst inside, anywhere;
  Bound bound = sizeof(T) == 4 ? function.single_precision : function.double_precision;
  for (int i = 0; i < n; ++i) {
    bool in_range = i % 4 > 1;
    if (!in_range && bound.anywhere.kind == Limit::kUntested) continue;
    mpfr_set_d(x, in[0][i], MPFR_RNDN);
    mpfr_set_d(y, in[1][i], MPFR_RNDN);
    mpfr_set_d(z, in[2][i], MPFR_RNDN);
    function.reference(exact, x, y, z);
    T want = rounded(exact, T());
    double off = error(got[i], want, function);
    bool documented = in_range && want != 0 && std::isfinite(want);
    // The bounds that are absolute are for where those in units end.
    if (!documented && bound.anywhere.kind == Limit::kAbsolute && off <= bound.inside.value) off = 0;
    (documented ? inside : anywhere).note(off, in[0][i], in[1][i], in[2][i], got[i], want);
  }
  mpfr_clears(exact, x, y, z, static_cast<mpfr_ptr>(nullptr));
  std::string name = std::string(sizeof(T) == 4 ? "float " : "double ") + function.name;
  compare(test, name, "inside", bound.inside, inside);
  compare(test, name, "anywhere", bound.anywhere, anywhere);
}

template <class T, class Kernel>
void run(Test& test, Kernel kernel, const std::vector<Function>& functions, int n) {
  Random random(1);
  // Functions of one kernel have different ranges: each is judged on arguments of its own.
  for (std::size_t f = 0; f < functions.size(); ++f) {
    std::vector<T> in[3];
    for (auto& values : in) values = arguments<T>(random, n, functions[f].low, functions[f].high);
    T* device[3] = {to_device(in[0]), to_device(in[1]), to_device(in[2])};
    T* out = device_array<T>(n * functions.size());
    kernel<<<blocks_for(n, 64), 64>>>(Arguments<T>{device[0], device[1], device[2]}, out, n);
    check(hipGetLastError());
    std::vector<T> results = to_host(out, n * functions.size());
    judge(test, functions[f], in, results.data() + f * n, n);
    for (T* memory : device) check(hipFree(memory));
    check(hipFree(out));
  }
}

template <class T>
void run_all(Test& test) {
  run<T>(test, trigonometric<T>, kTrigonometric, 4000);
  run<T>(test, hyperbolic<T>, kHyperbolic, 4000);
  run<T>(test, exponential<T>, kExponential, 4000);
  run<T>(test, roots<T>, kRoots, 4000);
  run<T>(test, errors<T>, kErrors, 2000);
  run<T>(test, inverse_errors<T>, kInverseErrors, 600);
  run<T>(test, gammas<T>, kGammas, 1000);
  run<T>(test, bessel<T>, kBessel, 400);
  run<T>(test, rounding<T>, kRounding, 4000);
  run<T>(test, binary<T>, kBinary, 6000);
  run<T>(test, ternary<T>, kTernary, 6000);
  run<T>(test, rounded_to_nearest<T>, kRounded, 6000);
}

int main(int argc, char** argv) {
  verbose = argc == 2 && std::strcmp(argv[1], "-v") == 0;
  Test test("accuracy");
  mpfr_set_emin(-5000);  // enough for the squares of double's denormals
  mpfr_set_emax(5000);
  run_all<float>(test);
  run_all<double>(test);
  run<float>(test, fast<float>, kFast, 4000);
  return test.finish();
}
