// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What kernels call that compute in the ring of `algebra`; math/algebra.cc makes the calls.
#include "ring.h"

int32_t mneme_ring_of_f32(float x) { return ring_of_single(x); }
int32_t mneme_ring_of_f64(double x) { return ring_of_double(x); }
int32_t mneme_ring_of_integer(int64_t x) { return ring_of(x); }
int32_t mneme_ring_of_unsigned(uint64_t x) { return ring_of_unsigned(x); }
int32_t mneme_ring_short(int32_t a) { return ring_short(a); }
float mneme_ring_brain_float(int32_t a) { return ring_brain_float(a); }

int32_t mneme_ring_add(int32_t a, int32_t b) { return ring_add(a, b); }
int32_t mneme_ring_subtract(int32_t a, int32_t b) { return ring_add(a, -b); }
int32_t mneme_ring_multiply(int32_t a, int32_t b) { return ring_multiply(a, b); }
int32_t mneme_ring_divide(int32_t a, int32_t b) { return ring_divide(a, b); }
int32_t mneme_ring_magnitude(int32_t a) { return ring_magnitude(a); }
int32_t mneme_ring_compare(int32_t a, int32_t b) { return ring_compare(a, b); }
int32_t mneme_ring_least(int32_t a, int32_t b) { return ring_compare(a, b) <= 0 ? a : b; }
int32_t mneme_ring_greatest(int32_t a, int32_t b) { return ring_compare(a, b) >= 0 ? a : b; }
int32_t mneme_ring_sign_of(int32_t a, int32_t sign) {
  return ring_sign(sign) < 0 ? -ring_magnitude(a) : ring_magnitude(a);
}
int32_t mneme_ring_root(int32_t a) { return ring_root(a); }
int32_t mneme_ring_exp2(int32_t a) { return ring_exp2(a); }
int32_t mneme_ring_power(int32_t a, int64_t n) { return ring_integer_power(a, n); }
int32_t mneme_ring_scale(int32_t a, int64_t n) { return ring_scale(a, n); }

// Integers of moderate size are what they are; there is no telling of others.
int32_t mneme_ring_rounded(uint64_t name, int32_t a) {
  return a >= -0x8000 && a <= 0x8000 ? a : ring_of_unsigned(ring_mixed(name, a));
}

// Functions of which no laws hold here. The first argument is of the function's name.
uint64_t mneme_ring_opaque(uint64_t state, int64_t argument) { return ring_mixed(state, argument); }

// With exponents that are integers it is a product.
int32_t mneme_ring_pow(uint64_t name, int32_t a, int32_t n) {
  if (n >= -0x8000 && n <= 0x8000) return ring_integer_power(a, n);
  if (n == ring_of_single(0.5f)) return ring_root(a);
  return ring_of_unsigned(ring_mixed(ring_mixed(name, a), n));
}
