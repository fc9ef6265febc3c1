// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What kernels call instead of the GPU's mathematical instructions and instead of a few functions of the device
// library. Compiled to LLVM IR and inlined into kernels (dialect/amdgpu/math.cc), so: no loops and no calls, for the
// loop over work-items must vectorise; and no fused multiply-add, for the bits must not depend on the processor.
#pragma once
#include <stdint.h>

static inline uint64_t bits_of(double x) {
  uint64_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline double double_of(uint64_t bits) {
  double x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

// Of an integer below 2^52. There is no vector instruction for the conversion before AVX-512.
static inline double double_of_integer(uint64_t n) { return double_of(n | 0x4330000000000000) - 0x1p52; }

// A zero byte and the 1320 bits of 2/pi that follow the point, last byte first.
extern const uint8_t mneme_two_over_pi[166];
