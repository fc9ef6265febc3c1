// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elements as kernels read them, and the error of one: what verify/errors.h says, without branches.
#pragma once
#include "modulus.h"
#include "work_item.h"

namespace mneme::verify {

using Word8 = unsigned char;
using Word16 = unsigned short;
using Word32 = unsigned int;
using Word64 = unsigned long long;

constexpr double kInfinity = __builtin_huge_val();

struct ErrorPair {
  double absolute, relative;
};

// The second, where one is NaN.
MNEME_DEVICE inline double larger(double a, double b) { return a > b ? a : b; }
MNEME_DEVICE inline double magnitude(double value) { return __builtin_fabs(value); }
MNEME_DEVICE inline bool is_nan(double value) { return value != value; }
MNEME_DEVICE inline bool is_finite(double value) { return magnitude(value) < kInfinity; }

// ---- values that doubles hold exactly ----

template <class T, class W>
struct Integer {  // of at most 32 bits
  using Word = W;
  MNEME_DEVICE static double value(Word word) { return static_cast<double>(static_cast<T>(word)); }
};

struct Float32 {
  using Word = Word32;
  MNEME_DEVICE static double value(Word word) { return static_cast<double>(__builtin_bit_cast(float, word)); }
};

struct Float64 {
  using Word = Word64;
  MNEME_DEVICE static double value(Word word) { return __builtin_bit_cast(double, word); }
};

struct Brain16 {
  using Word = Word16;
  MNEME_DEVICE static double value(Word word) {
    return static_cast<double>(__builtin_bit_cast(float, static_cast<Word32>(word) << 16));
  }
};

struct Float16 {
  using Word = Word16;
  MNEME_DEVICE static double value(Word word) {
    // The exponent is a double's but for its bias, which the product mends, for denormals too.
    Word64 bits = static_cast<Word64>(word & 0x7FFF) << 42;
    double scaled = __builtin_bit_cast(double, bits) * 0x1p+1008;
    Word64 sign = static_cast<Word64>(word & 0x8000) << 48;
    Word64 special = (word & 0x7C00) == 0x7C00 ? 0x7FF0000000000000 : 0;  // infinite or NaN
    return __builtin_bit_cast(double, __builtin_bit_cast(Word64, scaled) | special | sign);
  }
};

// ---- bits ----

// Of each byte of the word, in its lowest bit: whether it is not 0.
template <class Word>
MNEME_DEVICE inline Word bytes_set(Word word) {
  constexpr auto kLow = static_cast<Word>(0x7F7F7F7F7F7F7F7F), kOnes = static_cast<Word>(0x0101010101010101);
  auto carried = static_cast<Word>(static_cast<Word>(word & kLow) + kLow);
  return static_cast<Word>((static_cast<Word>(carried | word) >> 7) & kOnes);
}

// The sum of its bytes.
MNEME_DEVICE inline unsigned sum_of_bytes(Word64 word) {
  // Of pairs first: it may be more than a byte holds.
  constexpr Word64 kLow = 0x00FF00FF00FF00FF, kOnes = 0x0001000100010001;
  return static_cast<unsigned>((((word & kLow) + ((word >> 8) & kLow)) * kOnes) >> 48);
}

template <class Word>
struct OneWord {
  using Element = Word;
  MNEME_DEVICE static Word same(Element e, Element r) { return e == r; }
  MNEME_DEVICE static Word bytes(Element e, Element r) { return bytes_set(static_cast<Word>(e ^ r)); }
};

template <class Word>
struct TwoWords {
  struct Element {
    Word real, imaginary;
  };
  MNEME_DEVICE static Word same(Element e, Element r) { return ((e.real ^ r.real) | (e.imaginary ^ r.imaginary)) == 0; }
  MNEME_DEVICE static Word bytes(Element e, Element r) {
    return bytes_set(e.real ^ r.real) + bytes_set(e.imaginary ^ r.imaginary);
  }
};

// ---- errors ----
// quick() is right unless the absolute error it gives is not finite.

template <class Format>
struct Real : OneWord<typename Format::Word> {
  using Word = typename Format::Word;
  using Element = Word;

  MNEME_DEVICE static ErrorPair quick(Element expected, Element replayed) {
    double e = Format::value(expected), r = Format::value(replayed);
    double absolute = magnitude(r - e);
    return {absolute, larger(absolute / magnitude(e), 0)};
  }

  MNEME_DEVICE static ErrorPair careful(Element expected, Element replayed) {
    return between(Format::value(expected), Format::value(replayed));
  }

  MNEME_DEVICE static ErrorPair between(double e, double r) {
    if (e == r || (is_nan(e) && is_nan(r))) return {0, 0};
    if (!is_finite(e) || !is_finite(r)) return {kInfinity, kInfinity};
    double absolute = magnitude(r - e);
    if (e == 0) return {absolute, kInfinity};
    if (!is_finite(absolute)) return {absolute, magnitude(r / 2 - e / 2) / magnitude(e / 2)};
    return {absolute, absolute / magnitude(e)};
  }
};

// Integers of 64 bits: the exact difference, rounded up.
template <class Signed>
struct Integer64 : OneWord<Word64> {
  using Word = Word64;

  MNEME_DEVICE static ErrorPair quick(Element expected, Element replayed) {
    auto e = static_cast<Signed>(expected), r = static_cast<Signed>(replayed);
    Word64 difference = r > e ? replayed - expected : expected - replayed;
    Word64 size = e < 0 ? 0 - expected : expected;
    auto absolute = static_cast<double>(difference);
    // Both halves of the difference are doubles, and so is what rounding took or gave.
    double upper = static_cast<double>(difference >> 32) * 0x1p+32;
    double lost = (upper - absolute) + static_cast<double>(difference & 0xFFFFFFFF);
    Word64 up = lost > 0;
    absolute = __builtin_bit_cast(double, __builtin_bit_cast(Word64, absolute) + up);
    double relative = absolute / static_cast<double>(size);
    return {absolute, absolute == 0 ? 0 : relative};
  }
  MNEME_DEVICE static ErrorPair careful(Element expected, Element replayed) { return quick(expected, replayed); }
};

template <class Format>
struct Complex : TwoWords<typename Format::Word> {
  using Word = typename Format::Word;
  using Element = typename TwoWords<Word>::Element;

  MNEME_DEVICE static ErrorPair quick(Element expected, Element replayed) {
    double a = Format::value(expected.real), b = Format::value(expected.imaginary);
    double x = magnitude(Format::value(replayed.real) - a), y = magnitude(Format::value(replayed.imaginary) - b);
    double size = modulus(magnitude(a), magnitude(b));
    double absolute = modulus(x, y);
    double relative = absolute / size;
    // An infinite modulus of finite parts is not to be seen in the absolute error: told by NaN.
    absolute = size < kInfinity ? absolute : size - size;
    return {absolute, absolute == 0 ? 0 : relative};
  }

  MNEME_DEVICE static ErrorPair careful(Element expected, Element replayed) {
    double a = Format::value(expected.real), b = Format::value(expected.imaginary);
    double c = Format::value(replayed.real), d = Format::value(replayed.imaginary);
    ErrorPair real = Real<Format>::between(a, c), imaginary = Real<Format>::between(b, d);
    if (real.absolute == 0 && imaginary.absolute == 0) return {0, 0};
    double absolute = modulus(real.absolute, imaginary.absolute);
    double size = modulus(magnitude(a), magnitude(b));
    if (is_finite(absolute) && is_finite(size)) return {absolute, size == 0 ? kInfinity : absolute / size};
    if (!is_finite(a) || !is_finite(b) || !is_finite(c) || !is_finite(d)) return {absolute, kInfinity};
    a /= 4, b /= 4, c /= 4, d /= 4;
    return {absolute, modulus(magnitude(c - a), magnitude(d - b)) / modulus(magnitude(a), magnitude(b))};
  }
};

}  // namespace mneme::verify
