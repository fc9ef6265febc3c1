// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What AMD GPUs have instructions for, and the device library uses.
#include "math.h"

// A zero byte and the 1320 bits of 2/pi that follow the point, last byte first.
const uint8_t mneme_two_over_pi[166] = {
    0x5e, 0x61, 0x91, 0xe3, 0xa9, 0x1d, 0x36, 0xf4, 0x9a, 0x20, 0xbc, 0xcf, 0xf0, 0xab, 0x6b, 0x7b, 0xfc, 0x46, 0x30,
    0x03, 0x56, 0x08, 0x5d, 0x8d, 0x1f, 0xb1, 0x5f, 0xfb, 0x6b, 0xea, 0x92, 0x52, 0x8a, 0xf7, 0x39, 0x07, 0x3d, 0x7b,
    0xf1, 0xe5, 0xeb, 0xc7, 0xba, 0x27, 0x75, 0x2d, 0xea, 0x5f, 0x9e, 0x66, 0x3f, 0x46, 0x4f, 0xb7, 0x09, 0xcb, 0x27,
    0xcf, 0x7e, 0x36, 0x6d, 0x1f, 0x6d, 0x0a, 0x5a, 0x8b, 0x11, 0x2f, 0xef, 0x0f, 0x98, 0x05, 0xde, 0xff, 0x97, 0xf8,
    0x1f, 0x3b, 0x28, 0xf9, 0xbd, 0x8b, 0x5f, 0x84, 0x9c, 0xf4, 0x39, 0x53, 0x83, 0x39, 0xd6, 0x91, 0x39, 0x41, 0x7e,
    0x5f, 0xb4, 0x26, 0x70, 0x9c, 0xe9, 0x84, 0x44, 0xbb, 0x2e, 0xf5, 0x35, 0x82, 0xe8, 0x3e, 0xa7, 0x29, 0xb1, 0x1c,
    0xeb, 0x1d, 0xfe, 0x1c, 0x92, 0xd1, 0x09, 0xea, 0x2e, 0x49, 0x06, 0xe0, 0xd2, 0x4d, 0x42, 0x3a, 0x6e, 0x24, 0xb7,
    0x61, 0xc5, 0xbb, 0xde, 0xab, 0x63, 0x51, 0xfe, 0x41, 0x90, 0x43, 0x3c, 0x99, 0x95, 0x62, 0xdb, 0xc0, 0xdd, 0x34,
    0xf5, 0xd1, 0x57, 0x27, 0xfc, 0x29, 0x15, 0x44, 0x4e, 0x6e, 0x83, 0xf9, 0xa2, 0x00,
};

// A part of x * 2^n that neither rounds nor overflows, and what is then left of n.
static double scale_partly(double x, int32_t* n) {
  int down = *n < -1022, up = *n > 1023;
  *n += down ? 969 : up ? -1023 : 0;
  return x * (down ? 0x1p-969 : up ? 0x1p1023 : 1.0);
}

// In steps, none but the last of which rounds: one that ends below the normal numbers leaves so small an exponent that
// the result is zero whatever it lost. (No loop: it would stay one, and keep the loop over work-items from
// vectorising.)
double mneme_ldexp_f64(double x, int32_t n) {
  x = scale_partly(x, &n);
  x = scale_partly(x, &n);
  n = n < -1022 ? -1022 : n;
  n = n > 1023 ? 1023 : n;
  return x * double_of((uint64_t)(uint32_t)(n + 1023) << 52);
}

// 53 bits of 2/pi, those that matter for the exponent of x and the segment asked for; for huge x times 2^128.
double mneme_trig_preop_f64(double x, int32_t segment) {
  uint64_t exponent = bits_of(x) >> 52 & 0x7ff;
  uint64_t shift = (uint64_t)(segment & 31) * 53 + (exponent > 1077 ? exponent - 1077 : 0);
  shift = shift > 1148 ? 1148 : shift;
  uint64_t bits;
  __builtin_memcpy(&bits, mneme_two_over_pi + sizeof mneme_two_over_pi - sizeof bits - 1 - (shift >> 3), sizeof bits);
  bits = bits << (shift & 7) >> 11;
  // Less than 2^53: in two halves, for double_of_integer's sake.
  double value = double_of_integer(bits >> 27) * 0x1p27 + double_of_integer(bits & 0x7ffffff);
  return mneme_ldexp_f64(value, -53 - (int32_t)shift + (exponent >= 1968 ? 128 : 0));
}

float mneme_ldexp_f32(float x, int32_t n) {
  n = n < -400 ? -400 : n;
  n = n > 400 ? 400 : n;
  return (float)((double)x * double_of((uint64_t)(uint32_t)(n + 1023) << 52));
}

// x as m * 2^e with m in [0.5, 1); zero, infinity and NaN are their own m, and have e = 0.
static uint64_t normal_bits(double x) { return bits_of(__builtin_fabs(x) < 0x1p-1022 ? x * 0x1p54 : x); }
static int has_exponent(double x) { return (x != 0.0) & (__builtin_fabs(x) < __builtin_inf()); }

double mneme_frexp_mant_f64(double x) {
  double mantissa = double_of((normal_bits(x) & 0x800fffffffffffff) | 0x3fe0000000000000);
  return has_exponent(x) ? mantissa : x;
}

int32_t mneme_frexp_exp_f64(double x) {
  int32_t biased = (int32_t)(normal_bits(x) >> 52 & 0x7ff) - (__builtin_fabs(x) < 0x1p-1022 ? 54 : 0);
  return has_exponent(x) ? biased - 1022 : 0;
}

// A denormal float is a normal double.
float mneme_frexp_mant_f32(float x) { return (float)mneme_frexp_mant_f64(x); }
int32_t mneme_frexp_exp_f32(float x) { return mneme_frexp_exp_f64(x); }

// x * y + z rounded once to half precision, as a float that holds the result with bits to spare: the sum, which a float
// may not hold, is rounded to odd, so that rounding it again is rounding once.
float mneme_fma_f16_f32(float x, float y, float z) {
  float product = x * y;  // exact
  float sum = product + z;
  float back = sum - product;
  float error = (product - (sum - back)) + (z - back);
  uint32_t bits;
  __builtin_memcpy(&bits, &sum, sizeof bits);
  int away = (error > 0.0f) == (sum > 0.0f);
  uint32_t odd = away ? bits + 1 : bits - 1;
  int inexact_even = (error != 0.0f) & !(bits & 1);
  bits = inexact_even ? odd : bits;
  float result;
  __builtin_memcpy(&result, &bits, sizeof result);
  return __builtin_fabsf(sum) < __builtin_inff() ? result : sum;
}
