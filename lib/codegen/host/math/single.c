// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Single precision, computed in double: a short polynomial there leaves an error just above half an ulp, and neither
// overflow nor denormals need care. Polynomials are near-minimax (Chebyshev), to 2^-35 or better.
#include "math.h"

// 2^t as a power of two and what it is to be multiplied by, less one. For |t| < 1000.
static double power_of_two(double t, double* rest) {
  double shifted = t + 0x1.8p52;  // its low bits: t rounded to an integer
  double r = t - (shifted - 0x1.8p52);
  double r2 = r * r;
  double low =
      (0x1.62e42fef84cf0p-1 + r * 0x1.ebfbdff823cedp-3) + r2 * (0x1.c6b08dd6fd234p-5 + r * 0x1.3b2ab7181b755p-7);
  double high =
      (0x1.5d8745a728441p-10 + r * 0x1.4308ac85aa947p-13) + r2 * (0x1.00dc4a532fb8ep-16 + r * 0x1.63d136366db24p-20);
  *rest = r * (low + r2 * r2 * high);
  return double_of((bits_of(shifted) + 1023) << 52);
}

static double clamped(double t) {
  t = t < -200.0 ? -200.0 : t;
  return t > 200.0 ? 200.0 : t;
}

// 2^t as a float, for every t.
static float exponential(double t) {
  double rest;
  double scale = power_of_two(clamped(t), &rest);
  return (float)(scale + scale * rest);
}

float mneme_exp2_f32(float x) { return exponential(x); }
float mneme_exp_f32(float x) { return exponential(x * 0x1.71547652b82fep+0); }
float mneme_exp10_f32(float x) { return exponential(x * 0x1.a934f0979a371p+1); }

float mneme_expm1_f32(float x) {
  double rest;
  double scale = power_of_two(clamped(x * 0x1.71547652b82fep+0), &rest);
  float result = (float)((scale - 1.0) + scale * rest);
  return x == 0.0f ? x : result;
}

// (e^2x - 1) / (e^2x + 1), of the number's size.
float mneme_tanh_f32(float x) {
  double rest;
  double scale = power_of_two(clamped(__builtin_fabs((double)x) * 0x1.71547652b82fep+1), &rest);
  double above_one = (scale - 1.0) + scale * rest;
  float result = __builtin_copysignf((float)(above_one / (above_one + 2.0)), x);
  return x == 0.0f ? x : __builtin_isnan(x) ? __builtin_nanf("") : result;
}

// The binary logarithm of a positive number, with an error of 2^-50.
static double binary_logarithm(double x) {
  const uint64_t kRootOfHalf = 0x3fe6a09e667f3bcd;
  uint64_t shifted = bits_of(x) - kRootOfHalf + ((uint64_t)1023 << 52);
  uint64_t exponent = shifted >> 52;  // and 1023
  double m = double_of(bits_of(x) - (exponent << 52) + ((uint64_t)1023 << 52));
  double s = (m - 1.0) / (m + 1.0);
  double z = s * s;
  double z2 = z * z;
  double low = 0x1.71547652b82ffp+1 + z * 0x1.ec709dc39ca37p-1;
  double high = (0x1.2776c516a1832p-1 + z * 0x1.a617567fc56e7p-2) +
                z2 * (0x1.484fa9f30746ep-2 + z * 0x1.0bb7fe8aa189ep-2 + z2 * 0x1.f17f267f467c8p-3);
  return (double_of_integer(exponent) - 1023.0) + s * (low + z2 * high);
}

static double logarithm(float x, double unit) {
  double result = binary_logarithm(x) * unit;
  result = x < __builtin_inff() ? result : x;  // infinity and NaN are their own
  result = x < 0.0f ? __builtin_nan("") : result;
  return x == 0.0f ? -__builtin_inf() : result;
}

float mneme_log2_f32(float x) { return (float)logarithm(x, 1.0); }
float mneme_log_f32(float x) { return (float)logarithm(x, 0x1.62e42fefa39efp-1); }
float mneme_log10_f32(float x) { return (float)logarithm(x, 0x1.34413509f79ffp-2); }

// x^y, for a y that is an integer (`whole`) or not, and an odd one or not.
static float power(float x, double y, int whole, int odd) {
  float size = __builtin_fabsf(x);
  float result = exponential(y * logarithm(size, 1.0));
  int unit = (size == 1.0f) & (y == y);  // also for an infinite y
  result = unit ? 1.0f : result;
  int undefined = (x < 0.0f) & (size < __builtin_inff()) & !whole;
  result = undefined ? __builtin_nanf("") : result;
  result = odd ? __builtin_copysignf(result, x) : result;
  int one = (x == 1.0f) | (y == 0.0);
  return one ? 1.0f : result;
}

float mneme_pow_f32(float x, float y) {
  int whole = __builtin_truncf(y) == y;
  int odd = whole & (__builtin_truncf(y * 0.5f) != y * 0.5f);
  return power(x, y, whole, odd);
}

float mneme_pown_f32(float x, int32_t n) { return power(x, n, 1, n & 1); }

// In double no square of a float overflows, nor vanishes. An infinity wins over a NaN.
static double length(double x, double y, double z, double w) {
  double result = __builtin_sqrt((x * x + y * y) + (z * z + w * w));
  int infinite = (__builtin_fabs(x) == __builtin_inf()) | (__builtin_fabs(y) == __builtin_inf()) |
                 (__builtin_fabs(z) == __builtin_inf()) | (__builtin_fabs(w) == __builtin_inf());
  return infinite ? __builtin_inf() : result;
}

float mneme_hypot_f32(float x, float y) { return (float)length(x, y, 0.0, 0.0); }
float mneme_rhypot_f32(float x, float y) { return (float)(1.0 / length(x, y, 0.0, 0.0)); }
float mneme_len3_f32(float x, float y, float z) { return (float)length(x, y, z, 0.0); }
float mneme_rlen3_f32(float x, float y, float z) { return (float)(1.0 / length(x, y, z, 0.0)); }
float mneme_len4_f32(float x, float y, float z, float w) { return (float)length(x, y, z, w); }
float mneme_rlen4_f32(float x, float y, float z, float w) { return (float)(1.0 / length(x, y, z, w)); }

float mneme_atan2_f32(float y, float x) {
  double across = __builtin_fabsf(x), up = __builtin_fabsf(y);
  int steep = up > across;
  double small = steep ? across : up;
  double large = steep ? up : across;
  double q = small / large;
  q = large == 0.0 ? 0.0 : q;
  q = small == __builtin_inf() ? 1.0 : q;
  double z = q * q, z2 = z * z, z4 = z2 * z2;
  double a = (0x1.ffffffff64861p-1 - z * 0x1.555553f66acd3p-2) + z2 * (0x1.999914da47ca9p-3 - z * 0x1.2488517a1484ap-3);
  double b = (0x1.c6533b8427d6cp-4 - z * 0x1.6f94f74f8cd8bp-4) + z2 * (0x1.2811d903c0624p-4 - z * 0x1.ba02cbf52913ep-5);
  double c =
      (0x1.151a0414877aap-5 - z * 0x1.0353b2f2dee10p-6) + z2 * (0x1.3623fbb76436ep-8 - z * 0x1.5bcc848f804dep-11);
  double angle = q * (a + z4 * (b + z4 * c));
  angle = steep ? 0x1.921fb54442d18p+0 - angle : angle;
  angle = __builtin_copysignf(1.0f, x) < 0.0f ? 0x1.921fb54442d18p+1 - angle : angle;
  float result = __builtin_copysignf((float)angle, y);
  return __builtin_isunordered(x, y) ? __builtin_nanf("") : result;
}

// An angle as the returned r in [-pi/4, pi/4], or a little more, and the number of right angles to add, in the low
// bits. For 0 <= x < 2^20: pi/2 in parts of 33 bits, so that products with the number of right angles are exact.
static double reduce_small(double x, uint64_t* quadrant) {
  double shifted = x * 0x1.45f306dc9c883p-1 + 0x1.8p52;
  double n = shifted - 0x1.8p52;
  *quadrant = bits_of(shifted);
  return ((x - n * 0x1.921fb54400000p+0) - n * 0x1.0b4611a600000p-34) - n * 0x1.3198a2e037073p-69;
}

// For x >= 2^20: the bits of 2/pi that neither are whole turns when multiplied by x nor too small to matter.
__attribute__((always_inline)) static inline double reduce_large(double x, uint64_t* quadrant) {
  uint64_t exponent = bits_of(x) >> 52;                                                 // and 1023
  double mantissa = double_of((bits_of(x) & 0x000fffffffffffff) | 0x4160000000000000);  // 24 bits before the point
  uint64_t position = (exponent - 1023 - 23 - 2 + 8) & 127;  // the first bit weighs two, times x
  const uint8_t* words = mneme_two_over_pi + sizeof mneme_two_over_pi - sizeof(uint64_t) - (position >> 3);
  uint64_t first, then;
  __builtin_memcpy(&first, words, sizeof first);
  __builtin_memcpy(&then, words - 7, sizeof then);
  first <<= position & 7;
  then <<= position & 7;
  double t0 = double_of_integer(first >> 35) * 0x1p-27;
  double t1 = double_of_integer(first >> 8 & 0x7ffffff) * 0x1p-54;
  double t2 = double_of_integer(then >> 32) * 0x1p-86;
  double p0 = mantissa * t0;  // exact, as is p1
  double p1 = mantissa * t1;
  double shifted = (p0 + p1) + 0x1.8p52;
  double n = shifted - 0x1.8p52;
  *quadrant = bits_of(shifted);
  return ((p0 - n) + (p1 + mantissa * t2)) * 0x1.921fb54442d18p+0;
}

// A branch: in a loop that is vectorised only the loads stay under it, one element at a time.
static double reduce(float x, uint64_t* quadrant) {
  double size = __builtin_fabs((double)x);
  if (__builtin_expect(size >= 0x1p20, 0)) return reduce_large(size, quadrant);
  return reduce_small(size, quadrant);
}

static double sine(double r) {
  double z = r * r;
  double p =
      (-0x1.555555545dd83p-3 + z * 0x1.11110deeb33b2p-7) + z * z * (-0x1.a013a6edc8f34p-13 + z * 0x1.6dbdd26f56d2dp-19);
  return r + r * z * p;
}

static double cosine(double r) {
  double z = r * r;
  double p =
      (0x1.5555555502be6p-5 - z * 0x1.6c16bf5495185p-10) + z * z * (0x1.a015c40ec65ecp-16 - z * 0x1.25242a3a17327p-22);
  return 1.0 - 0.5 * z + z * z * p;
}

// Infinity and NaN have no angle.
static float angle_exists(float x, double result) {
  return __builtin_fabsf(x) < __builtin_inff() ? (float)result : __builtin_nanf("");
}

float mneme_sin_f32(float x) {
  uint64_t quadrant;
  double r = reduce(x, &quadrant);
  double size = quadrant & 1 ? cosine(r) : sine(r);
  uint64_t sign = (quadrant & 2) << 62 ^ (bits_of(x) & 0x8000000000000000);
  return angle_exists(x, double_of(bits_of(size) ^ sign));
}

float mneme_cos_f32(float x) {
  uint64_t quadrant;
  double r = reduce(x, &quadrant);
  double size = quadrant & 1 ? sine(r) : cosine(r);
  uint64_t sign = ((quadrant + 1) & 2) << 62;
  return angle_exists(x, double_of(bits_of(size) ^ sign));
}

float mneme_tan_f32(float x) {
  uint64_t quadrant;
  double r = reduce(x, &quadrant);
  double s = sine(r);
  double c = cosine(r);
  double size = quadrant & 1 ? -c / s : s / c;
  return angle_exists(x, __builtin_copysign(1.0, x) * size);
}

// The hardware's sine and cosine, of x turns.
static double reduce_turns(float x, uint64_t* quadrant) {
  double shifted = 4.0 * x + 0x1.8p52;
  *quadrant = bits_of(shifted);
  return (4.0 * x - (shifted - 0x1.8p52)) * 0x1.921fb54442d18p+0;
}

float mneme_sin_turns_f32(float x) {
  uint64_t quadrant;
  double r = reduce_turns(x, &quadrant);
  double size = quadrant & 1 ? cosine(r) : sine(r);
  return angle_exists(x, double_of(bits_of(size) ^ (quadrant & 2) << 62));
}

float mneme_cos_turns_f32(float x) {
  uint64_t quadrant;
  double r = reduce_turns(x, &quadrant);
  double size = quadrant & 1 ? sine(r) : cosine(r);
  return angle_exists(x, double_of(bits_of(size) ^ ((quadrant + 1) & 2) << 62));
}
