// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ring in which `algebra` computes in place of floating-point numbers: integers modulo P * Q (docs/checks.md). Free
// of LLVM, and C, since kernels call it, the pass folds constants by it, and mneme-verify compares by it.
//
// An element is an integer from -kRingHalf to kRingHalf, and a float of 32 bits or more holds it as just that number. A
// number that no operation made is read as the fraction that it is: m * 2^e, and 2 has an inverse; or, where it is
// nothing but the nearest to a fraction with a small denominator, as that fraction: the reciprocal of 3 is 1/3.
//   - Sums, products, quotients and whatever follows from their laws are those of exact fractions, so far as these have
//     denominators that P and Q do not divide.
//   - Numbers of 16 bits are elements modulo Q, so that rounding to them is a homomorphism.
//   - Q divides P - 1, so that there is an exponential function: sums modulo Q, products modulo P.
//   - The sign of an element is its Legendre symbol modulo P: a product's is the product of the signs, -1 is negative,
//     and 1 to 10 are positive.
#pragma once
#include <stdint.h>
#include <string.h>

enum { kRingP = 6719, kRingQ = 3359, kRingModulus = kRingP * kRingQ, kRingHalf = kRingModulus / 2 };
enum { kRingMostDenominator = 256 };
// The number 1 modulo P and 0 modulo Q, and the other way round.
enum { kRingUnitP = -2 * kRingQ, kRingUnitQ = kRingP };
// Of order Q modulo P.
enum { kRingGenerator = 4 };

// Remainders of constants are products.
#define RING_INLINE static inline __attribute__((always_inline))

RING_INLINE int32_t ring_centred(int64_t value, int32_t modulus) {
  int32_t rest = (int32_t)(value % modulus);
  if (rest > modulus / 2) rest -= modulus;
  if (rest < -(modulus / 2)) rest += modulus;
  return rest;
}

static inline int32_t ring_of(int64_t value) { return ring_centred(value, kRingModulus); }
static inline int32_t ring_of_unsigned(uint64_t value) { return ring_of((int64_t)(value % kRingModulus)); }
static inline int32_t ring_add(int32_t a, int32_t b) { return ring_of((int64_t)a + b); }
static inline int32_t ring_multiply(int32_t a, int32_t b) { return ring_of((int64_t)a * b); }

// Modulo P or Q.
RING_INLINE int32_t ring_small_power(int32_t base, uint32_t exponent, int32_t modulus) {
  const uint32_t most = (uint32_t)modulus;
  uint32_t power = 1, square = (uint32_t)(base % modulus + modulus) % most;
  for (; exponent; exponent >>= 1) {
    if (exponent & 1) power = power * square % most;
    square = square * square % most;
  }
  return ring_centred(power, modulus);
}

static inline int32_t ring_power(int32_t base, uint64_t exponent) {
  int64_t power = 1, square = base;
  for (; exponent; exponent >>= 1) {
    if (exponent & 1) power = power * square % kRingModulus;
    square = square * square % kRingModulus;
  }
  return ring_of(power);
}

static inline int32_t ring_join(int32_t modulo_p, int32_t modulo_q) {
  return ring_of((int64_t)ring_of((int64_t)modulo_p * kRingUnitP) + ring_of((int64_t)modulo_q * kRingUnitQ));
}

// Modulo P and modulo Q; of zero it is zero.
static inline int32_t ring_inverse(int32_t a) {
  return ring_join(ring_small_power(a, kRingP - 2, kRingP), ring_small_power(a, kRingQ - 2, kRingQ));
}

static inline int32_t ring_divide(int32_t a, int32_t b) { return ring_multiply(a, ring_inverse(b)); }

static inline int32_t ring_integer_power(int32_t a, int64_t exponent) {
  if (exponent < 0) return ring_integer_power(ring_inverse(a), -exponent);
  return ring_power(a, (uint64_t)exponent);
}

// By a power of two, whose inverse is known.
static inline int32_t ring_scale(int32_t a, int64_t exponent) {
  const int32_t base = exponent < 0 ? -kRingHalf : 2;
  return ring_multiply(a, ring_power(base, (uint64_t)(exponent < 0 ? -exponent : exponent)));
}

// The product of two is that of the product, and squares of 1 to 10 have their roots.
static inline int32_t ring_root(int32_t a) {
  return ring_join(ring_small_power(a, (kRingP + 1) / 4, kRingP), ring_small_power(a, (kRingQ + 1) / 4, kRingQ));
}

// That of a sum is the product of both.
static inline int32_t ring_exp2(int32_t a) {
  const int32_t exponent = ring_centred(a, kRingQ);
  return ring_join(ring_small_power(kRingGenerator, (uint32_t)(exponent < 0 ? exponent + kRingQ : exponent), kRingP),
                   1);
}

static inline int32_t ring_sign(int32_t a) {
  const int32_t symbol = ring_small_power(a, (kRingP - 1) / 2, kRingP);
  return symbol ? symbol : ring_small_power(a, (kRingQ - 1) / 2, kRingQ);
}

static inline int32_t ring_magnitude(int32_t a) { return ring_sign(a) < 0 ? -a : a; }

// A total order in which a < b is -b < -a, and elements lie on the side of zero that their sign says.
static inline int32_t ring_compare(int32_t a, int32_t b) {
  if (a == b) return 0;
  const int32_t sign = ring_sign(a), other = ring_sign(b);
  if (sign != other) return sign < other ? -1 : 1;
  const int32_t first = ring_magnitude(a), second = ring_magnitude(b);
  const int below = (first < 0 ? first + kRingModulus : first) < (second < 0 ? second + kRingModulus : second);
  return below == (sign > 0) ? -1 : 1;
}

static inline uint64_t ring_mixed(uint64_t seed, int64_t value) {
  uint64_t x = (seed ^ (uint64_t)value) + 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

static inline int32_t ring_of_fraction(uint64_t mantissa, int negative, int exponent) {
  const int32_t value = ring_scale(ring_of_unsigned(mantissa), exponent);
  return negative ? -value : value;
}

// The element m * 2^e, an infinity's, or a NaN's.
static inline int32_t ring_of_dyadic(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  const int exponent = (int)(bits >> 52 & 0x7ff), negative = (int)(bits >> 63);
  uint64_t mantissa = bits & 0xfffffffffffff;
  if (exponent == 0x7ff) {
    const int32_t value = mantissa ? ring_of_unsigned(ring_mixed(2, 0)) : ring_of_unsigned(ring_mixed(1, 0));
    return negative && !mantissa ? -value : value;
  }
  if (exponent) mantissa |= 1ull << 52;
  return ring_of_fraction(mantissa, negative, (exponent ? exponent : 1) - 1075);
}

// By the convergents of its continued fraction: the first that rounds to it, if its denominator is small. A float that
// was made a double is the same.
static inline int32_t ring_of_number(double x) {
  const double size = x < 0 ? -x : x;
  if (size <= (double)(int32_t)kRingHalf && (double)(int32_t)x == x) return (int32_t)x;
  if (!(size < 0x1p23 && size > 0x1p-9)) return ring_of_dyadic(x);
  const int is_single = (double)(float)x == x;
  double rest = size;
  int64_t top = 1, top_before = 0, bottom = 0, bottom_before = 1;
  for (int i = 0; i < 12; ++i) {
    const int64_t whole = (int64_t)rest, next = whole * top + top_before, below = whole * bottom + bottom_before;
    if (below > kRingMostDenominator) break;
    top_before = top, top = next;
    bottom_before = bottom, bottom = below;
    const double error = size * (double)bottom - (double)top, near = (double)top * 0x1p-22;
    const double fraction = error <= near && error >= -near ? (double)top / (double)bottom : 0;
    if (is_single ? (double)(float)fraction == size : fraction == size) {
      const int32_t value = ring_divide(ring_of(top), (int32_t)bottom);
      return x < 0 ? -value : value;
    }
    if (rest == (double)whole) break;
    rest = 1 / (rest - (double)whole);
    if (!(rest < 0x1p31)) break;
  }
  return ring_of_dyadic(x);
}

static inline int32_t ring_of_single(float x) { return ring_of_number((double)x); }
static inline int32_t ring_of_double(double x) { return ring_of_number(x); }

// Of numbers of 16 bits: an element modulo Q.
static inline int32_t ring_short(int32_t element) { return ring_centred(element, kRingQ); }

// The bits of a number with a mantissa of 8 bits that is the element modulo Q, as a float's.
static inline float ring_brain_float(int32_t element) {
  int32_t mantissa = ring_short(element);
  double scale = 1;
  for (int i = 0; i < 100 && (mantissa > 256 || mantissa < -256); ++i) {
    mantissa = ring_short((mantissa & 1 ? mantissa + kRingQ : mantissa) / 2);
    scale *= 2;
  }
  return (float)(mantissa * scale);
}
