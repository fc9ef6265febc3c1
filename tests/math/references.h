// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exact results, by MPFR.
#pragma once

#include <mpfr.h>

namespace reference {

constexpr mpfr_rnd_t kNearest = MPFR_RNDN;

#define UNARY(name, function) \
  inline void name(mpfr_t r, const mpfr_t x, const mpfr_t, const mpfr_t) { function(r, x, kNearest); }
UNARY(sin, mpfr_sin)
UNARY(cos, mpfr_cos)
UNARY(tan, mpfr_tan)
UNARY(asin, mpfr_asin)
UNARY(acos, mpfr_acos)
UNARY(atan, mpfr_atan)
UNARY(sinh, mpfr_sinh)
UNARY(cosh, mpfr_cosh)
UNARY(tanh, mpfr_tanh)
UNARY(asinh, mpfr_asinh)
UNARY(acosh, mpfr_acosh)
UNARY(atanh, mpfr_atanh)
UNARY(exp, mpfr_exp)
UNARY(exp2, mpfr_exp2)
UNARY(exp10, mpfr_exp10)
UNARY(expm1, mpfr_expm1)
UNARY(log, mpfr_log)
UNARY(log2, mpfr_log2)
UNARY(log10, mpfr_log10)
UNARY(log1p, mpfr_log1p)
UNARY(sqrt, mpfr_sqrt)
UNARY(cbrt, mpfr_cbrt)
UNARY(erf, mpfr_erf)
UNARY(erfc, mpfr_erfc)
UNARY(tgamma, mpfr_gamma)
UNARY(j0, mpfr_j0)
UNARY(j1, mpfr_j1)
UNARY(y0, mpfr_y0)
UNARY(y1, mpfr_y1)
UNARY(rint, mpfr_rint)
#undef UNARY

#define BINARY(name, function) \
  inline void name(mpfr_t r, const mpfr_t x, const mpfr_t y, const mpfr_t) { function(r, x, y, kNearest); }
BINARY(pow, mpfr_pow)
BINARY(atan2, mpfr_atan2)
BINARY(hypot, mpfr_hypot)
BINARY(fmod, mpfr_fmod)
BINARY(remainder, mpfr_remainder)
BINARY(fdim, mpfr_dim)
BINARY(fmin, mpfr_min)
BINARY(fmax, mpfr_max)
BINARY(divide, mpfr_div)
BINARY(add, mpfr_add)
BINARY(sub, mpfr_sub)
BINARY(mul, mpfr_mul)
#undef BINARY

inline void ceil(mpfr_t r, const mpfr_t x, const mpfr_t, const mpfr_t) { mpfr_ceil(r, x); }
inline void floor(mpfr_t r, const mpfr_t x, const mpfr_t, const mpfr_t) { mpfr_floor(r, x); }
inline void trunc(mpfr_t r, const mpfr_t x, const mpfr_t, const mpfr_t) { mpfr_trunc(r, x); }
inline void round(mpfr_t r, const mpfr_t x, const mpfr_t, const mpfr_t) { mpfr_round(r, x); }
inline void sinpi(mpfr_t r, const mpfr_t x, const mpfr_t, const mpfr_t) { mpfr_sinu(r, x, 2, kNearest); }
inline void cospi(mpfr_t r, const mpfr_t x, const mpfr_t, const mpfr_t) { mpfr_cosu(r, x, 2, kNearest); }

inline void rsqrt(mpfr_t r, const mpfr_t x, const mpfr_t, const mpfr_t) {
  mpfr_rec_sqrt(r, x, kNearest);
  if (mpfr_zero_p(x)) mpfr_set_inf(r, mpfr_signbit(x) ? -1 : 1);
}

inline void rcbrt(mpfr_t r, const mpfr_t x, const mpfr_t, const mpfr_t) {
  mpfr_cbrt(r, x, kNearest);
  mpfr_ui_div(r, 1, r, kNearest);
}

inline void reciprocal(mpfr_t r, const mpfr_t x, const mpfr_t, const mpfr_t) { mpfr_ui_div(r, 1, x, kNearest); }

inline void lgamma(mpfr_t r, const mpfr_t x, const mpfr_t, const mpfr_t) {
  int sign;
  mpfr_lgamma(r, &sign, x, kNearest);
}

// exp(x^2) * erfc(x); for large x, where neither factor is within bounds, the asymptotic series.
inline void erfcx(mpfr_t r, const mpfr_t x, const mpfr_t, const mpfr_t) {
  mpfr_t square, term;
  mpfr_inits2(3 * mpfr_get_prec(r), square, term, static_cast<mpfr_ptr>(nullptr));
  mpfr_sqr(square, x, kNearest);
  if (mpfr_number_p(x) && mpfr_cmp_ui(x, 50) > 0) {
    mpfr_mul_2ui(square, square, 1, kNearest);
    mpfr_set_ui(term, 1, kNearest);
    mpfr_set_ui(r, 1, kNearest);
    for (unsigned long k = 1; k < 40; ++k) {
      mpfr_mul_ui(term, term, 2 * k - 1, kNearest);
      mpfr_div(term, term, square, kNearest);
      (k % 2 ? mpfr_sub : mpfr_add)(r, r, term, kNearest);
    }
    mpfr_div(r, r, x, kNearest);
    mpfr_const_pi(term, kNearest);
    mpfr_rec_sqrt(term, term, kNearest);
    mpfr_mul(r, r, term, kNearest);
  } else if (mpfr_inf_p(x) && mpfr_sgn(x) > 0) {
    mpfr_set_zero(r, 1);
  } else {
    mpfr_exp(square, square, kNearest);
    mpfr_erfc(r, x, kNearest);
    mpfr_mul(r, r, square, kNearest);
  }
  mpfr_clears(square, term, static_cast<mpfr_ptr>(nullptr));
}

// erfc(-x / sqrt 2) / 2
inline void normcdf(mpfr_t r, const mpfr_t x, const mpfr_t, const mpfr_t) {
  mpfr_t half;
  mpfr_init2(half, 2 * mpfr_get_prec(r));
  mpfr_set_d(half, 0.5, kNearest);
  mpfr_sqrt(half, half, kNearest);
  mpfr_mul(half, half, x, kNearest);
  mpfr_neg(half, half, kNearest);
  mpfr_erfc(r, half, kNearest);
  mpfr_div_2ui(r, r, 1, kNearest);
  mpfr_clear(half);
}

// The y with erfc(y) = x, by Newton's method on -log erfc, which is convex.
inline void erfcinv(mpfr_t r, const mpfr_t x, const mpfr_t, const mpfr_t) {
  if (!mpfr_number_p(x) || mpfr_sgn(x) < 0 || mpfr_cmp_ui(x, 2) > 0) return mpfr_set_nan(r);
  if (mpfr_zero_p(x) || mpfr_cmp_ui(x, 2) == 0) return mpfr_set_inf(r, mpfr_zero_p(x) ? 1 : -1);
  bool mirrored = mpfr_cmp_ui(x, 1) > 0;
  mpfr_t target, value, slope;
  mpfr_inits2(mpfr_get_prec(r) + 1100, target, static_cast<mpfr_ptr>(nullptr));
  mpfr_inits2(mpfr_get_prec(r) + 32, value, slope, static_cast<mpfr_ptr>(nullptr));
  mpfr_set(target, x, kNearest);
  if (mirrored) mpfr_ui_sub(target, 2, target, kNearest);
  // erfc(y) <= exp(-y^2): the solution is not beyond this.
  mpfr_log(r, target, kNearest);
  mpfr_neg(r, r, kNearest);
  mpfr_sqrt(r, r, kNearest);
  for (int step = 0; step < 40; ++step) {
    // y += erfc(y) / erfc'(y) * log(x / erfc(y)), with erfc'(y) = -2 / sqrt(pi) * exp(-y^2)
    mpfr_sqr(slope, r, kNearest);
    mpfr_exp(slope, slope, kNearest);
    mpfr_erfc(value, r, kNearest);
    mpfr_mul(slope, slope, value, kNearest);
    mpfr_div(value, target, value, kNearest);
    mpfr_log(value, value, kNearest);
    mpfr_mul(slope, slope, value, kNearest);
    mpfr_const_pi(value, kNearest);
    mpfr_sqrt(value, value, kNearest);
    mpfr_mul(slope, slope, value, kNearest);
    mpfr_div_2ui(slope, slope, 1, kNearest);
    mpfr_sub(r, r, slope, kNearest);
    if (mpfr_zero_p(slope) || (!mpfr_zero_p(r) && mpfr_get_exp(slope) < mpfr_get_exp(r) - 70)) break;
  }
  if (mirrored) mpfr_neg(r, r, kNearest);
  mpfr_clears(target, value, slope, static_cast<mpfr_ptr>(nullptr));
}

inline void erfinv(mpfr_t r, const mpfr_t x, const mpfr_t y, const mpfr_t z) {
  if (!mpfr_number_p(x)) {
    mpfr_set_nan(r);
  } else if (mpfr_zero_p(x)) {
    mpfr_set(r, x, kNearest);
  } else if (mpfr_get_exp(x) < -40) {  // sqrt(pi) / 2 * x, to 80 bits
    mpfr_const_pi(r, kNearest);
    mpfr_sqrt(r, r, kNearest);
    mpfr_mul(r, r, x, kNearest);
    mpfr_div_2ui(r, r, 1, kNearest);
  } else {
    mpfr_t complement;
    mpfr_init2(complement, 128);
    mpfr_ui_sub(complement, 1, x, kNearest);
    erfcinv(r, complement, y, z);
    mpfr_clear(complement);
  }
}

inline void normcdfinv(mpfr_t r, const mpfr_t x, const mpfr_t y, const mpfr_t z) {
  mpfr_t twice;
  mpfr_init2(twice, 64);
  mpfr_mul_2ui(twice, x, 1, kNearest);
  erfcinv(r, twice, y, z);
  mpfr_set_prec(twice, mpfr_get_prec(r));
  mpfr_sqrt_ui(twice, 2, kNearest);
  mpfr_mul(r, r, twice, kNearest);
  mpfr_neg(r, r, kNearest);
  mpfr_clear(twice);
}

// The modified Bessel functions of orders 0 and 1, by their power series, all of whose terms are positive.
inline void modified_bessel(mpfr_t r, const mpfr_t x, unsigned long order) {
  if (!mpfr_number_p(x)) {
    mpfr_abs(r, x, kNearest);
    if (order == 1) mpfr_setsign(r, r, mpfr_signbit(x), kNearest);
    return;
  }
  mpfr_t term, quarter;
  mpfr_inits2(mpfr_get_prec(r) + 32, term, quarter, static_cast<mpfr_ptr>(nullptr));
  mpfr_sqr(quarter, x, kNearest);
  mpfr_div_2ui(quarter, quarter, 2, kNearest);
  mpfr_set_ui(term, 1, kNearest);
  if (order == 1) mpfr_div_2ui(term, x, 1, kNearest);
  mpfr_set(r, term, kNearest);
  bool vast = mpfr_cmp_d(quarter, 1e6) > 0;  // the result overflows
  for (unsigned long k = 1; !vast && k < 10000; ++k) {
    mpfr_mul(term, term, quarter, kNearest);
    mpfr_div_ui(term, term, k * (k + order), kNearest);
    mpfr_add(r, r, term, kNearest);
    if (mpfr_zero_p(term) || mpfr_get_exp(term) < mpfr_get_exp(r) - mpfr_get_prec(r)) break;
  }
  if (vast) mpfr_set_inf(r, mpfr_sgn(term));
  mpfr_clears(term, quarter, static_cast<mpfr_ptr>(nullptr));
}

inline void i0(mpfr_t r, const mpfr_t x, const mpfr_t, const mpfr_t) { modified_bessel(r, x, 0); }
inline void i1(mpfr_t r, const mpfr_t x, const mpfr_t, const mpfr_t) { modified_bessel(r, x, 1); }

inline void rhypot(mpfr_t r, const mpfr_t x, const mpfr_t y, const mpfr_t) {
  mpfr_hypot(r, x, y, kNearest);
  mpfr_ui_div(r, 1, r, kNearest);
}

inline void fma(mpfr_t r, const mpfr_t x, const mpfr_t y, const mpfr_t z) { mpfr_fma(r, x, y, z, kNearest); }

inline void norm3d(mpfr_t r, const mpfr_t x, const mpfr_t y, const mpfr_t z) {
  mpfr_hypot(r, x, y, kNearest);
  mpfr_hypot(r, r, z, kNearest);
}

inline void rnorm3d(mpfr_t r, const mpfr_t x, const mpfr_t y, const mpfr_t z) {
  norm3d(r, x, y, z);
  mpfr_ui_div(r, 1, r, kNearest);
}

// The fourth coordinate is the first again.
inline void norm4d(mpfr_t r, const mpfr_t x, const mpfr_t y, const mpfr_t z) {
  norm3d(r, x, y, z);
  mpfr_hypot(r, r, x, kNearest);
}

inline void rnorm4d(mpfr_t r, const mpfr_t x, const mpfr_t y, const mpfr_t z) {
  norm4d(r, x, y, z);
  mpfr_ui_div(r, 1, r, kNearest);
}

// The exponent that the kernel makes of a number: it, cut to an integer, when it is small.
inline void powi(mpfr_t r, const mpfr_t x, const mpfr_t y, const mpfr_t) {
  bool small = mpfr_number_p(y) && mpfr_cmp_si(y, -5) > 0 && mpfr_cmp_si(y, 5) < 0;
  mpfr_pow_si(r, x, small ? mpfr_get_si(y, MPFR_RNDZ) : 2, kNearest);
}

inline void j2(mpfr_t r, const mpfr_t x, const mpfr_t, const mpfr_t) { mpfr_jn(r, 2, x, kNearest); }
inline void y2(mpfr_t r, const mpfr_t x, const mpfr_t, const mpfr_t) { mpfr_yn(r, 2, x, kNearest); }

inline void saturate(mpfr_t r, const mpfr_t x, const mpfr_t, const mpfr_t) {
  mpfr_set(r, x, kNearest);
  if (mpfr_cmp_ui(x, 1) > 0) mpfr_set_ui(r, 1, kNearest);
  if (mpfr_cmp_ui(x, 0) < 0) mpfr_set_zero(r, 1);
}

}  // namespace reference
