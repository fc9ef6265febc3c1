// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elements as kernels read them, and the error of one: what verify/errors.h says, without branches.
//
// Everything is of kCount elements, one or many (many.h).
#pragma once
#include "many.h"
#include "modulus.h"
#include "work_item.h"

namespace mneme::verify {

using Word8 = unsigned char;
using Word16 = unsigned short;
using Word32 = unsigned int;
using Word64 = unsigned long long;

template <unsigned kBytes>
struct WordOf;
template <>
struct WordOf<1> {
  using Type = Word8;
};
template <>
struct WordOf<2> {
  using Type = Word16;
};
template <>
struct WordOf<4> {
  using Type = Word32;
};
template <>
struct WordOf<8> {
  using Type = Word64;
};

constexpr double kInfinity = __builtin_huge_val();

// Those that are measured (chunk.h).
template <unsigned kCount>
struct ErrorPair {
  Many<double, kCount> first, second;
};

// The second, where one is NaN.
template <class Numbers>
MNEME_DEVICE inline Numbers larger(Numbers a, Numbers b) {
  return a > b ? a : b;
}
template <class Numbers>
MNEME_DEVICE inline Numbers magnitude(Numbers values) {
  return __builtin_elementwise_abs(values);
}
MNEME_DEVICE inline bool is_nan(double value) { return value != value; }
MNEME_DEVICE inline bool is_finite(double value) { return magnitude(value) < kInfinity; }

// a / |b|, of numbers of at most 32 bits each, or what two of them differ by: the quotient is far from where doubles
// end. 0 / 0 is 0.
template <class Numbers>
MNEME_DEVICE inline Numbers divide_small(Numbers a, Numbers b) {
  return larger(a / magnitude(b), Numbers(0));
}

// a / b, of a b that is not 0 and has at most kBits bits that matter, 32 or less.
#ifdef __NVPTX__
// In fewer steps than the GPU's assembler takes, and without a branch: the divisions of several elements are under way
// at once. The estimate is right in 19 bits, and what Newton makes of it in 38 or 52: so little is lost in the first
// quotient that b has room for all that the remainder has, which is exact. With it the quotient is right in 70 bits, or
// 90, before it is rounded; it is never as near to the middle between two doubles, for b has so few bits.
template <unsigned kBits>
MNEME_DEVICE inline double quotient(double a, double b) {
  double estimate = __nvvm_rcp_approx_ftz_d(b), error = __builtin_fma(-b, estimate, 1.0);
  if constexpr (kBits > 16) error = __builtin_fma(error, error, error);
  double reciprocal = __builtin_fma(error, estimate, estimate), near = a * reciprocal;
  return __builtin_fma(__builtin_fma(-b, near, a), reciprocal, near);
}
#else
template <unsigned kBits>
MNEME_DEVICE inline double quotient(double a, double b) {
  return a / b;
}
#endif

// ---- values that doubles hold exactly ----

template <class T, class W>
struct Integer {  // of at most 32 bits
  using Word = W;
  using Value = T;
  static constexpr bool kIsSmall = true, kIsInteger = true;
  static constexpr unsigned kBits = 8 * sizeof(W);
  template <unsigned kCount>
  MNEME_DEVICE static Many<double, kCount> values(Many<Word, kCount> words) {
    return convert<double, kCount>(convert<T, kCount>(words));
  }
};

struct Float32 {
  using Word = Word32;
  static constexpr bool kIsSmall = true, kIsInteger = false;
  static constexpr unsigned kBits = 24;
  static constexpr bool kHasPlainModulus = true;
  template <unsigned kCount>
  MNEME_DEVICE static Many<double, kCount> values(Many<Word, kCount> words) {
    return convert<double, kCount>(bits_as<float, kCount>(words));
  }
};

struct Float64 {
  using Word = Word64;
  static constexpr bool kIsSmall = false, kIsInteger = false;
  static constexpr bool kHasPlainModulus = false;
  template <unsigned kCount>
  MNEME_DEVICE static Many<double, kCount> values(Many<Word, kCount> words) {
    return bits_as<double, kCount>(words);
  }
};

struct Brain16 {
  using Word = Word16;
  static constexpr bool kIsSmall = true, kIsInteger = false;
  static constexpr unsigned kBits = 8;
  template <unsigned kCount>
  MNEME_DEVICE static Many<double, kCount> values(Many<Word, kCount> words) {
    return convert<double, kCount>(bits_as<float, kCount>(convert<Word32, kCount>(words) << 16));
  }
};

struct Float16 {
  using Word = Word16;
  static constexpr bool kIsSmall = true, kIsInteger = false;
  static constexpr unsigned kBits = 11;
  template <unsigned kCount>
  MNEME_DEVICE static Many<double, kCount> values(Many<Word, kCount> words) {
#if defined(MNEME_CONVERTS_HALVES) || defined(__NVPTX__)
    return convert<double, kCount>(convert<float, kCount>(bits_as<_Float16, kCount>(words)));
#else
    // The exponent is a double's but for its bias, which the product mends, for denormals too.
    using Words = Many<Word64, kCount>;
    Many<Word32, kCount> wide = convert<Word32, kCount>(words);
    Words bits = convert<Word64, kCount>(wide & 0x7FFF) << 42;
    Words scaled = bits_as<Word64, kCount>(bits_as<double, kCount>(bits) * 0x1p+1008);
    Words sign = convert<Word64, kCount>(wide & 0x8000) << 48;
    Words exponent = convert<Word64, kCount>(wide & 0x7C00);
    Words special = exponent == 0x7C00 ? Words(0x7FF0000000000000) : Words(0);  // infinite or NaN
    return bits_as<double, kCount>(scaled | special | sign);
#endif
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

template <class W>
struct OneWord {
  using Word = W;
  using Element = Word;
  template <unsigned kCount>
  using Elements = Many<Word, kCount>;

  // As many in a row.
  template <unsigned kCount>
  MNEME_DEVICE static Elements<kCount> in_row(const Element* first) {
    return load<Elements<kCount>>(first);
  }

  MNEME_DEVICE static Word same(Element e, Element r) { return e == r; }
  MNEME_DEVICE static Word bytes(Element e, Element r) { return bytes_set(static_cast<Word>(e ^ r)); }
};

template <class W>
struct TwoWords {
  using Word = W;
  template <unsigned kCount>
  struct Elements {
    Many<Word, kCount> real, imaginary;
  };
  using Element = Elements<1>;

  template <unsigned kCount>
  MNEME_DEVICE static Elements<kCount> in_row(const Element* first) {
    static_assert(kCount == 8);
    auto words = load<Many<Word, 2 * kCount>>(first);
    return {__builtin_shufflevector(words, words, 0, 2, 4, 6, 8, 10, 12, 14),
            __builtin_shufflevector(words, words, 1, 3, 5, 7, 9, 11, 13, 15)};
  }

  MNEME_DEVICE static Word same(Element e, Element r) { return ((e.real ^ r.real) | (e.imaginary ^ r.imaginary)) == 0; }
  MNEME_DEVICE static Word bytes(Element e, Element r) {
    return bytes_set(e.real ^ r.real) + bytes_set(e.imaginary ^ r.imaginary);
  }
};

// ---- errors ----
// quick() and quick_scaled() are right unless the first error that they give is not finite.

// The absolute and the relative error.
struct Plain {
  template <class Format, unsigned kCount, class Elements>
  MNEME_DEVICE ErrorPair<kCount> quick(Elements expected, Elements replayed) const {
    return Format::template quick<kCount>(expected, replayed);
  }
  template <class Format>
  MNEME_DEVICE ErrorPair<1> careful(typename Format::Element expected, typename Format::Element replayed) const {
    return Format::careful(expected, replayed);
  }
};

// The scaled error, and that in ULPs.
struct Scaled {
  double scale;

  template <class Format, unsigned kCount, class Elements>
  MNEME_DEVICE ErrorPair<kCount> quick(Elements expected, Elements replayed) const {
    return Format::template quick_scaled<kCount>(expected, replayed, scale);
  }
  template <class Format>
  MNEME_DEVICE ErrorPair<1> careful(typename Format::Element expected, typename Format::Element replayed) const {
    return Format::careful_scaled(expected, replayed, scale);
  }
};

// The halves of a word, each a double: the last bits of one of which the last place is 1, or 2^32. Few CPUs convert
// such words.
template <unsigned kCount>
MNEME_DEVICE inline Many<double, kCount> lower_half(Many<Word64, kCount> words) {
  return bits_as<double, kCount>((words & 0xFFFFFFFF) | 0x4330000000000000) - 0x1p+52;
}
template <unsigned kCount>
MNEME_DEVICE inline Many<double, kCount> upper_half(Many<Word64, kCount> words) {
  return bits_as<double, kCount>((words >> 32) | 0x4530000000000000) - 0x1p+84;
}

// A word as a double, rounded up.
template <unsigned kCount>
MNEME_DEVICE inline Many<double, kCount> rounded_up(Many<Word64, kCount> words) {
  using Numbers = Many<double, kCount>;
  using Words = Many<Word64, kCount>;
  // Both halves are doubles, and so is what rounding took or gave.
  Numbers upper = upper_half<kCount>(words), lower = lower_half<kCount>(words);
  Numbers sum = upper + lower, lost = (upper - sum) + lower;
  Words up = lost > 0 ? Words(1) : Words(0);
  return bits_as<double, kCount>(bits_as<Word64, kCount>(sum) + up);
}

// The number of a value among all of its format, in their order: both zeros have the same.
template <unsigned kCount, class Word>
MNEME_DEVICE inline auto place_of(Many<Word, kCount> words) {
  constexpr Word kSign = static_cast<Word>(Word{1} << (8 * sizeof(Word) - 1));
  if constexpr (sizeof(Word) == 8) {
    return (words & kSign) != 0 ? 0 - words : words | kSign;  // all moved up by kSign
  } else {
    Many<int, kCount> wide = convert<int, kCount>(words);
    Many<int, kCount> number = wide & (kSign - 1);
    return convert<double, kCount>(number == wide ? number : -number);
  }
}

// How many steps from one number of the format to the next lead from one value to the other: exact, of 64 bits rounded
// up. Of NaNs anything.
template <class Format, unsigned kCount>
MNEME_DEVICE inline Many<double, kCount> ulps_between(Many<typename Format::Word, kCount> expected,
                                                      Many<typename Format::Word, kCount> replayed) {
  using Word = typename Format::Word;
  if constexpr (Format::kIsInteger) {
    return magnitude(Format::template values<kCount>(replayed) - Format::template values<kCount>(expected));
  } else if constexpr (sizeof(Word) < 8) {
    return magnitude(place_of<kCount, Word>(replayed) - place_of<kCount, Word>(expected));
  } else {
    Many<Word64, kCount> e = place_of<kCount, Word>(expected), r = place_of<kCount, Word>(replayed);
    return rounded_up<kCount>(r > e ? r - e : e - r);
  }
}

template <class F>
struct Real : OneWord<typename F::Word> {
  using Format = F;
  using Element = typename Format::Word;

  template <unsigned kCount>
  MNEME_DEVICE static ErrorPair<kCount> quick(Many<Element, kCount> expected, Many<Element, kCount> replayed) {
    using Numbers = Many<double, kCount>;
    Numbers e = Format::template values<kCount>(expected), r = Format::template values<kCount>(replayed);
    Numbers absolute = magnitude(r - e);
    if constexpr (Format::kIsSmall) return {absolute, divide_small(absolute, e)};
    return {absolute, larger(absolute / magnitude(e), Numbers(0))};
  }

  MNEME_DEVICE static ErrorPair<1> careful(Element expected, Element replayed) {
    return between(Format::template values<1>(expected), Format::template values<1>(replayed));
  }

  template <unsigned kCount>
  MNEME_DEVICE static ErrorPair<kCount> quick_scaled(Many<Element, kCount> expected, Many<Element, kCount> replayed,
                                                     double scale) {
    using Numbers = Many<double, kCount>;
    Numbers e = Format::template values<kCount>(expected), r = Format::template values<kCount>(replayed);
    Numbers by = larger(magnitude(e), Numbers(scale));
    return {magnitude(r - e) / by, ulps_between<Format, kCount>(expected, replayed)};
  }

  MNEME_DEVICE static ErrorPair<1> careful_scaled(Element expected, Element replayed, double scale) {
    double e = Format::template values<1>(expected), r = Format::template values<1>(replayed);
    if (e == r || (is_nan(e) && is_nan(r))) return {0, 0};
    if (!is_finite(e) || !is_finite(r)) return {kInfinity, kInfinity};
    double absolute = magnitude(r - e), by = larger(magnitude(e), scale);
    double scaled = is_finite(absolute) ? absolute / by : magnitude(r / 2 - e / 2) / (by / 2);
    return {scaled, ulps_between<Format, 1>(expected, replayed)};
  }

  MNEME_DEVICE static ErrorPair<1> between(double e, double r) {
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
  template <unsigned kCount>
  MNEME_DEVICE static ErrorPair<kCount> quick(Many<Word64, kCount> expected, Many<Word64, kCount> replayed) {
    using Numbers = Many<double, kCount>;
    using Words = Many<Word64, kCount>;
    auto e = convert<Signed, kCount>(expected), r = convert<Signed, kCount>(replayed);
    Words difference = r > e ? replayed - expected : expected - replayed;
    Words size = e < 0 ? 0 - expected : expected;
    Numbers absolute = rounded_up<kCount>(difference);
    Numbers relative = absolute / (upper_half<kCount>(size) + lower_half<kCount>(size));
    return {absolute, absolute == 0 ? Numbers(0) : relative};
  }
  MNEME_DEVICE static ErrorPair<1> careful(Element expected, Element replayed) { return quick<1>(expected, replayed); }

  template <unsigned kCount>
  MNEME_DEVICE static ErrorPair<kCount> quick_scaled(Many<Word64, kCount> expected, Many<Word64, kCount> replayed,
                                                     double scale) {
    using Numbers = Many<double, kCount>;
    using Words = Many<Word64, kCount>;
    auto e = convert<Signed, kCount>(expected), r = convert<Signed, kCount>(replayed);
    Words size = e < 0 ? 0 - expected : expected;
    Numbers absolute = rounded_up<kCount>(r > e ? replayed - expected : expected - replayed);
    Numbers by = larger(upper_half<kCount>(size) + lower_half<kCount>(size), Numbers(scale));
    return {absolute == 0 ? Numbers(0) : absolute / by, absolute};
  }
  MNEME_DEVICE static ErrorPair<1> careful_scaled(Element expected, Element replayed, double scale) {
    return quick_scaled<1>(expected, replayed, scale);
  }
};

template <class Format>
struct Complex : TwoWords<typename Format::Word> {
  using Word = typename Format::Word;
  using Element = typename TwoWords<Word>::Element;
  template <unsigned kCount>
  using Elements = typename TwoWords<Word>::template Elements<kCount>;

  template <unsigned kCount>
  MNEME_DEVICE static ErrorPair<kCount> quick(Elements<kCount> expected, Elements<kCount> replayed) {
    using Numbers = Many<double, kCount>;
    Numbers a = Format::template values<kCount>(expected.real), b = Format::template values<kCount>(expected.imaginary);
    Numbers x = magnitude(Format::template values<kCount>(replayed.real) - a);
    Numbers y = magnitude(Format::template values<kCount>(replayed.imaginary) - b);
    Numbers size = modulus_of(magnitude(a), magnitude(b));
    Numbers absolute = modulus_of(x, y);
    Numbers relative = absolute / size;
    // An infinite modulus of finite parts is not to be seen in the absolute error: told by NaN.
    absolute = size < kInfinity ? absolute : size - size;
    return {absolute, absolute == 0 ? Numbers(0) : relative};
  }

  MNEME_DEVICE static ErrorPair<1> careful(Element expected, Element replayed) {
    double a = Format::template values<1>(expected.real), b = Format::template values<1>(expected.imaginary);
    double c = Format::template values<1>(replayed.real), d = Format::template values<1>(replayed.imaginary);
    ErrorPair<1> real = Real<Format>::between(a, c), imaginary = Real<Format>::between(b, d);
    if (real.first == 0 && imaginary.first == 0) return {0, 0};
    double absolute = modulus(real.first, imaginary.first);
    double size = modulus(magnitude(a), magnitude(b));
    if (is_finite(absolute) && is_finite(size)) return {absolute, size == 0 ? kInfinity : absolute / size};
    if (!is_finite(a) || !is_finite(b) || !is_finite(c) || !is_finite(d)) return {absolute, kInfinity};
    a /= 4, b /= 4, c /= 4, d /= 4;
    return {absolute, modulus(magnitude(c - a), magnitude(d - b)) / modulus(magnitude(a), magnitude(b))};
  }

  template <unsigned kCount>
  MNEME_DEVICE static ErrorPair<kCount> quick_scaled(Elements<kCount> expected, Elements<kCount> replayed,
                                                     double scale) {
    using Numbers = Many<double, kCount>;
    Numbers a = Format::template values<kCount>(expected.real), b = Format::template values<kCount>(expected.imaginary);
    Numbers x = magnitude(Format::template values<kCount>(replayed.real) - a);
    Numbers y = magnitude(Format::template values<kCount>(replayed.imaginary) - b);
    Numbers size = modulus_of(magnitude(a), magnitude(b));
    Numbers scaled = modulus_of(x, y) / larger(size, Numbers(scale));
    scaled = size < kInfinity ? scaled : size - size;  // as in quick()
    return {scaled, larger(ulps_between<Format, kCount>(expected.real, replayed.real),
                           ulps_between<Format, kCount>(expected.imaginary, replayed.imaginary))};
  }

  MNEME_DEVICE static ErrorPair<1> careful_scaled(Element expected, Element replayed, double scale) {
    double a = Format::template values<1>(expected.real), b = Format::template values<1>(expected.imaginary);
    double c = Format::template values<1>(replayed.real), d = Format::template values<1>(replayed.imaginary);
    ErrorPair<1> real = Real<Format>::between(a, c), imaginary = Real<Format>::between(b, d);
    if (real.first == 0 && imaginary.first == 0) return {0, 0};
    double ulps = larger(Real<Format>::careful_scaled(expected.real, replayed.real, scale).second,
                         Real<Format>::careful_scaled(expected.imaginary, replayed.imaginary, scale).second);
    double absolute = modulus(real.first, imaginary.first);
    double size = modulus(magnitude(a), magnitude(b));
    if (is_finite(absolute) && is_finite(size)) return {absolute / larger(size, scale), ulps};
    if (!is_finite(a) || !is_finite(b) || !is_finite(c) || !is_finite(d)) return {kInfinity, ulps};
    a /= 4, b /= 4, c /= 4, d /= 4;
    double by = larger(modulus(magnitude(a), magnitude(b)), scale / 4);
    return {modulus(magnitude(c - a), magnitude(d - b)) / by, ulps};
  }

 private:
  // The same bits as modulus().
  template <class Numbers>
  MNEME_DEVICE static Numbers modulus_of(Numbers x, Numbers y) {
    return Format::kHasPlainModulus ? plain_modulus(x, y) : modulus(x, y);
  }
};

}  // namespace mneme::verify
