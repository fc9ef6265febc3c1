// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arithmetic rounded otherwise than to nearest, which the processor does when told. These functions stay calls in
// kernels: within them alone the other mode holds. `mode` is what the processor's control register calls it. Sums and
// products of floats need none (dialect/nvptx/ptx/rounding.cc).
#include "math.h"

#pragma STDC FENV_ACCESS ON

static uint32_t begin_mode(uint32_t mode) {
  uint32_t before = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr((before & ~0x6000u) | mode << 13);
  return before;
}

#define ROUNDED(type, name, parameters, expression) \
  type mneme_##name parameters {                    \
    uint32_t before = begin_mode(mode);             \
    type result = (expression);                     \
    __builtin_ia32_ldmxcsr(before);                 \
    return result;                                  \
  }

ROUNDED(float, div_rounded_f32, (float x, float y, uint32_t mode), x / y)
ROUNDED(float, sqrt_rounded_f32, (float x, uint32_t mode), __builtin_sqrtf(x))

ROUNDED(double, add_rounded_f64, (double x, double y, uint32_t mode), x + y)
ROUNDED(double, mul_rounded_f64, (double x, double y, uint32_t mode), x* y)
ROUNDED(double, div_rounded_f64, (double x, double y, uint32_t mode), x / y)
ROUNDED(double, sqrt_rounded_f64, (double x, uint32_t mode), __builtin_sqrt(x))
ROUNDED(double, fma_rounded_f64, (double x, double y, double z, uint32_t mode), __builtin_fma(x, y, z))

ROUNDED(float, f64_rounded_f32, (double x, uint32_t mode), (float)x)
ROUNDED(float, s32_rounded_f32, (int32_t n, uint32_t mode), (float)n)
ROUNDED(float, u32_rounded_f32, (uint32_t n, uint32_t mode), (float)(int64_t)n)
ROUNDED(float, s64_rounded_f32, (int64_t n, uint32_t mode), (float)n)
ROUNDED(double, s64_rounded_f64, (int64_t n, uint32_t mode), (double)n)
// In halves, the second of which only matters as a whole: rounding the same way twice is rounding once.
ROUNDED(double, u64_rounded_f64, (uint64_t n, uint32_t mode),
        (double)(int64_t)(n >> 32) * 0x1p32 + (double)(int64_t)(n & 0xffffffff))
ROUNDED(float, u64_rounded_f32, (uint64_t n, uint32_t mode),
        (float)((double)(int64_t)(n >> 32) * 0x1p32 + (double)(int64_t)(n & 0xffffffff)))

#undef ROUNDED
