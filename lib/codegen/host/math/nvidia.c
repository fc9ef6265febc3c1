// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What NVIDIA's GPUs have instructions for.
#include "math.h"

// A number that no float may hold, to be rounded again to fewer bits: the one of the two floats beside it whose last
// bit is set, or itself. `sum` and `error` are exact together.
static float float_rounded_to_odd(double sum, double error) {
  // The sum, likewise, as a double.
  uint64_t bits = bits_of(sum);
  int outwards = (error > 0.0) == (sum > 0.0);
  uint64_t odd = ((error != 0.0) & !(bits & 1)) ? (outwards ? bits + 1 : bits - 1) : bits;
  double exact = double_of(odd);
  float nearest = (float)exact;
  uint32_t word;
  __builtin_memcpy(&word, &nearest, sizeof word);
  int too_small = __builtin_fabs((double)nearest) < __builtin_fabs(exact);
  word = (((double)nearest != exact) & !(word & 1)) ? (too_small ? word + 1 : word - 1) : word;
  float result;
  __builtin_memcpy(&result, &word, sizeof result);
  return __builtin_fabs(sum) < __builtin_inf() ? result : (float)sum;
}

// x * y + z of bfloat16, rounded to odd.
float mneme_fma_bf16_f32(float x, float y, float z) {
  double product = (double)x * y;  // exact
  double sum = product + z;
  double back = sum - product;
  return float_rounded_to_odd(sum, (product - (sum - back)) + ((double)z - back));
}

// A double on its way to sixteen bits.
float mneme_odd_f32(double x) { return float_rounded_to_odd(x, 0.0); }

// An integer, likewise: of what lies beyond a double's bits only counts whether it is there.
static uint64_t double_bits_of(uint64_t n) {
  uint64_t folded = (n & ~(uint64_t)0xfff) | ((n & 0xfff) != 0) << 11;
  return n >> 53 ? folded : n;
}
float mneme_odd_u64_f32(uint64_t n) {
  uint64_t bits = double_bits_of(n);
  return mneme_odd_f32((double)(int64_t)(bits >> 32) * 0x1p32 + (double)(int64_t)(bits & 0xffffffff));
}
float mneme_odd_s64_f32(int64_t n) {
  float size = mneme_odd_u64_f32(n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
  return n < 0 ? -size : size;
}

// The place of the offset-th set bit of the mask, counted from the base upwards (or downwards, for a negative offset),
// which itself counts if set; all ones if there is none. Without an offset: the base, if set.
uint32_t mneme_find_nth_set(uint32_t mask, uint32_t base, int32_t offset) {
  if (base > 31) return UINT32_MAX;
  if (offset == 0) return mask >> base & 1 ? base : UINT32_MAX;
  int step = offset > 0 ? 1 : -1;
  uint32_t left = offset > 0 ? (uint32_t)offset : 0 - (uint32_t)offset;
  for (int place = (int)base; place >= 0 && place < 32; place += step) {
    left -= mask >> place & 1;
    if (left == 0) return (uint32_t)place;
  }
  return UINT32_MAX;
}
