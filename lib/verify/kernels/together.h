// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// On a GPU: a work-group of kLanes by kRows work-items for each chunk. Equal memory is read as fast as the memory goes;
// what differs, too, unless its elements are so small that computing takes longer.
#pragma once
#include "lanes.h"

namespace mneme::verify {

// How many elements are the same, bit for bit, and how many bytes differ.
struct Bits {
  unsigned same, bytes;
};

struct Seen {
  Errors<1> errors;
  Bits bits;
};

// Elements that are on their way at once, of either side: enough to keep the memory busy, and few enough for registers.
template <class Format>
constexpr unsigned kAtOnce = sizeof(typename Format::Element) <= 8 ? 8 : 4;

// ---- the bits of a lane's elements ----

// Elements of a word or more.
template <class Format, unsigned kSize = sizeof(typename Format::Element)>
class Differing {
 public:
  using Element = typename Format::Element;

  // Of so many elements. Returns whether any differs; adds nothing if none does.
  template <unsigned kCount>
  MNEME_DEVICE bool add(const Element (&e)[kCount], const Element (&r)[kCount]) {
    unsigned same = 0;
#pragma unroll
    for (unsigned i = 0; i < kCount; i++) same += static_cast<unsigned>(Format::same(e[i], r[i]));
    if (same == kCount) return false;
    elements_ += kCount - same;
#pragma unroll
    for (unsigned i = 0; i < kCount; i++) bytes_ += Format::bytes(e[i], r[i]);
    return true;
  }
  MNEME_DEVICE Bits bits() const { return {kGroup - elements_, sum_of_bytes(bytes_)}; }

 private:
  unsigned elements_ = 0;
  typename Format::Word bytes_ = 0;  // in each byte, how many there differ
};

// Smaller ones: several are looked at as one word.
template <class Format, unsigned kSize>
  requires(kSize <= 4)
class Differing<Format, kSize> {
 public:
  using Element = typename Format::Element;

  template <unsigned kCount>
  MNEME_DEVICE bool add(const Element (&e)[kCount], const Element (&r)[kCount]) {
    Word32 words[kCount / kInWord], any = 0;
#pragma unroll
    for (unsigned i = 0; i < kCount / kInWord; i++) {
      words[i] = 0;
#pragma unroll
      for (unsigned j = 0, factor = 1; j < kInWord; j++, factor <<= 8 * kSize % 32) {
        words[i] += static_cast<Word32>(e[i * kInWord + j] ^ r[i * kInWord + j]) * factor;
      }
      any |= words[i];
    }
    if (any == 0) return false;
#pragma unroll
    for (Word32 word : words) {
      Word32 bytes = bytes_set(word);
      bytes_ += bytes;
      if constexpr (kSize == 2) elements_ += (bytes | bytes >> 8) & 0x00010001;
      if constexpr (kSize == 4) elements_ += word != 0;
    }
    return true;
  }
  MNEME_DEVICE Bits bits() const {
    unsigned bytes = sum_of_bytes(bytes_);
    return {kGroup - (kSize == 1 ? bytes : (elements_ & 0xFFFF) + (elements_ >> 16)), bytes};
  }

 private:
  static constexpr unsigned kInWord = 4 / kSize;
  Word32 elements_ = 0, bytes_ = 0;
};

// ---- the errors of a lane's elements, the quick way ----

// What is larger, whatever the signs.
MNEME_DEVICE inline double farther(double a, double b) { return magnitude(a) > magnitude(b) ? a : b; }

// Elements that are the same are no error, and an error of 0 leaves all as it is.
template <class Format, class Measure>
class Adding {
 public:
  MNEME_DEVICE explicit Adding(Measure measure) : measure_(measure) {}
  template <unsigned kCount>
  MNEME_DEVICE void add(const typename Format::Element (&e)[kCount], const typename Format::Element (&r)[kCount]) {
#pragma unroll
    for (unsigned i = 0; i < kCount; i++) errors_.add(measure_.template quick<Format, 1>(e[i], r[i]));
  }
  MNEME_DEVICE Errors<1> errors() const { return errors_; }

 private:
  Measure measure_;
  Errors<1> errors_{};
};

// Divisions of small numbers are quick where nothing is divided by 0: seldom is anything.
template <class Format>
class Relative {
 public:
  MNEME_DEVICE void add(double error, double expected) { add_quotient(quotient<Format::kBits>(error, expected)); }
  MNEME_DEVICE void add_with_zeros(double error, double expected) {
    double by = expected == 0 ? 1 : expected, beyond = error == 0 ? 0 : kInfinity;
    double relative = quotient<Format::kBits>(error, by);
    add_quotient(expected == 0 ? beyond : relative);
  }
  MNEME_DEVICE void put(Errors<1>& errors) const {
    errors.second = sum_;
    errors.second_squares = squares_;
    errors.most_second = magnitude(most_);
  }

 private:
  MNEME_DEVICE void add_quotient(double relative) {
    sum_ += magnitude(relative);
    squares_ = __builtin_fma(relative, relative, squares_);
    most_ = farther(most_, relative);
  }

  double sum_ = 0, squares_ = 0, most_ = 0;
};

template <class Format>
  requires(Format::kIsSmall && (!Format::kIsInteger || Format::kBits > 16))
class Adding<Real<Format>, Plain> {
 public:
  using Element = typename Format::Word;
  MNEME_DEVICE explicit Adding(Plain) {}

  template <unsigned kCount>
  MNEME_DEVICE void add(const Element (&e)[kCount], const Element (&r)[kCount]) {
    bool zero = false;
#pragma unroll
    for (unsigned i = 0; i < kCount; i++) zero |= is_zero(e[i]);
    if (!zero) {
#pragma unroll
      for (unsigned i = 0; i < kCount; i++) add<false>(e[i], r[i]);
    } else {
#pragma unroll
      for (unsigned i = 0; i < kCount; i++) add<true>(e[i], r[i]);
    }
  }
  MNEME_DEVICE Errors<1> errors() const {
    Errors<1> errors{};
    errors.first = sum_;
    errors.first_squares = squares_;
    errors.most_first = magnitude(most_);
    relative_.put(errors);
    return errors;
  }

 private:
  MNEME_DEVICE static bool is_zero(Element e) { return static_cast<Element>(Format::kIsInteger ? e : e << 1) == 0; }

  template <bool kZeros>
  MNEME_DEVICE void add(Element e, Element r) {
    double expected = Format::template values<1>(e), error = Format::template values<1>(r) - expected;
    sum_ += magnitude(error);
    squares_ = __builtin_fma(error, error, squares_);
    most_ = farther(most_, error);
    if constexpr (kZeros) {
      relative_.add_with_zeros(error, expected);
    } else {
      relative_.add(error, expected);
    }
  }

  double sum_ = 0, squares_ = 0, most_ = 0;
  Relative<Format> relative_;
};

// Absolute errors of integers of at most 16 bits, and what they add up to, are integers.
template <class Format>
  requires(Format::kIsSmall && Format::kIsInteger && Format::kBits <= 16)
class Adding<Real<Format>, Plain> {
 public:
  using Element = typename Format::Word;
  MNEME_DEVICE explicit Adding(Plain) {}

  template <unsigned kCount>
  MNEME_DEVICE void add(const Element (&e)[kCount], const Element (&r)[kCount]) {
    bool zero = false;
#pragma unroll
    for (unsigned i = 0; i < kCount; i++) zero |= e[i] == 0;
    if (!zero) {
#pragma unroll
      for (unsigned i = 0; i < kCount; i++) add<false>(e[i], r[i]);
    } else {
#pragma unroll
      for (unsigned i = 0; i < kCount; i++) add<true>(e[i], r[i]);
    }
  }
  MNEME_DEVICE Errors<1> errors() const {
    Errors<1> errors{};
    errors.first = sum_;
    errors.first_squares = static_cast<double>(squares_);
    errors.most_first = most_;
    relative_.put(errors);
    return errors;
  }

 private:
  template <bool kZeros>
  MNEME_DEVICE void add(Element e, Element r) {
    int expected = static_cast<typename Format::Value>(e),
        difference = static_cast<typename Format::Value>(r) - expected;
    auto error = static_cast<Word32>(difference < 0 ? -difference : difference);
    sum_ += error;
    squares_ += Word64{error} * error;
    most_ = most_ > error ? most_ : error;
    if constexpr (kZeros) {
      relative_.add_with_zeros(number(error), expected);
    } else {
      relative_.add(number(error), number(static_cast<Word32>(expected < 0 ? -expected : expected)));
    }
  }
  // In less time than the conversion takes: the last bits of a double of which the last place is 1.
  MNEME_DEVICE static double number(Word32 value) {
    return __builtin_bit_cast(double, 0x4330000000000000 | Word64{value}) - 0x1p+52;
  }

  Word32 sum_ = 0, most_ = 0;
  Word64 squares_ = 0;
  Relative<Format> relative_;
};

// A lane's elements.
template <class Format, class Measure>
MNEME_DEVICE inline Seen look(Measure measure, const typename Format::Element* expected,
                              const typename Format::Element* replayed) {
  using Element = typename Format::Element;
  Adding<Format, Measure> errors(measure);
  Differing<Format> differing;
#pragma nounroll
  for (unsigned first = 0; first < kGroup; first += kAtOnce<Format>) {
    Element e[kAtOnce<Format>], r[kAtOnce<Format>];
#pragma unroll
    for (unsigned i = 0; i < kAtOnce<Format>; i++) {
      e[i] = expected[(first + i) * kLanes];
      r[i] = replayed[(first + i) * kLanes];
    }
    if (differing.add(e, r)) errors.add(e, r);
  }
  return {errors.errors(), differing.bits()};
}

// A work-group's lanes, to be added up: each of the quantities by the work-items that run together.
class Lanes {
 public:
  MNEME_DEVICE void put(unsigned item, const Errors<1>& errors) {
    put(item, kSums + 0, errors.first);
    put(item, kSums + 1, errors.second);
    put(item, kSums + 2, errors.first_squares);
    put(item, kSums + 3, errors.second_squares);
    put(item, kMosts + 0, errors.most_first);
    put(item, kMosts + 1, errors.most_second);
  }
  MNEME_DEVICE void put(unsigned item, Bits bits) { values_[kBits][item] = Word64{bits.same} << 32 | bits.bytes; }

  // All work-items call it when all have put in what is theirs, and may read the sums then.
  MNEME_DEVICE void add_up(unsigned item) {
    barrier();
    const unsigned group = item / kTogether, i = item % kTogether;  // rows are next to each other
    Word64* sums = values_[kSums + group];
    Word64* others = values_[kMosts + group];  // the last group's are not used
    const bool counts = kMosts + group >= kBits;
    double sum = (number(sums[i]) + number(sums[i + 64])) + (number(sums[i + 32]) + number(sums[i + 96]));
    Word64 other = both(both(others[i], others[i + 64], counts), both(others[i + 32], others[i + 96], counts), counts);
#pragma unroll
    for (unsigned half = kTogether / 2; half > 0; half /= 2) {
      sums[i] = word(sum);
      others[i] = other;
      barrier_together();
      if (i < half) {
        sum += number(sums[i + half]);
        other = both(other, others[i + half], counts);
      }
    }
    if (i == 0) {
      sums[0] = word(sum);
      others[0] = other;
    }
    barrier();
  }

  MNEME_DEVICE double first() const { return number(values_[kSums + 0][0]); }
  MNEME_DEVICE double second() const { return number(values_[kSums + 1][0]); }
  MNEME_DEVICE double first_squares() const { return number(values_[kSums + 2][0]); }
  MNEME_DEVICE double second_squares() const { return number(values_[kSums + 3][0]); }
  MNEME_DEVICE double most_first() const { return number(values_[kMosts + 0][0]); }
  MNEME_DEVICE double most_second() const { return number(values_[kMosts + 1][0]); }
  MNEME_DEVICE Bits bits() const {
    return {static_cast<unsigned>(values_[kBits][0] >> 32), static_cast<unsigned>(values_[kBits][0])};
  }

 private:
  static constexpr unsigned kSums = 0, kMosts = 4, kBits = 6, kQuantities = 8, kTogether = 32;
  static_assert(kLanes * kRows == 4 * kTogether);

  MNEME_DEVICE static double number(Word64 word) { return __builtin_bit_cast(double, word); }
  MNEME_DEVICE static Word64 word(double number) { return __builtin_bit_cast(Word64, number); }
  MNEME_DEVICE void put(unsigned item, unsigned quantity, double number) { values_[quantity][item] = word(number); }
  MNEME_DEVICE static Word64 both(Word64 a, Word64 b, bool counts) {
    return counts ? a + b : word(larger(number(a), number(b)));
  }

  Word64 values_[kQuantities][kLanes * kRows];
};

// A chunk of small elements, of either side: read once, in wide words, and then one by one, which global memory does
// slowly. The rows are moved apart so that work-items side by side read from different banks.
template <class Format>
struct Chunks {
  using Element = typename Format::Element;
  using Rows = Element[kRows][kRow + kLanes];
  alignas(8) Rows expected, replayed;
};
// Elements that are not so small are where they were.
template <class Format>
  requires(sizeof(typename Format::Element) >= 4)
struct Chunks<Format> {};

// Brings this work-item's part of the chunk, which begins at these addresses, and says whether it finds a difference.
template <class Part, class Format>
MNEME_DEVICE inline bool brings_difference(const void* expected, const void* replayed, unsigned item,
                                           Chunks<Format>& chunks) {
  using Parts [[gnu::may_alias]] = Part;
  constexpr unsigned kRowParts = kRow * sizeof(typename Format::Element) / sizeof(Part), kItems = kLanes * kRows;
  constexpr unsigned kParts = kRowParts * kRows / kItems, kAtOnce = kParts < 8 ? kParts : 8;
  auto *e = static_cast<const Parts*>(expected) + item, *r = static_cast<const Parts*>(replayed) + item;
  bool differ = false;
#pragma nounroll
  for (unsigned first = 0; first < kParts; first += kAtOnce) {
    Part ours[kAtOnce], theirs[kAtOnce];
#pragma unroll
    for (unsigned i = 0; i < kAtOnce; i++) {
      ours[i] = e[(first + i) * kItems];
      theirs[i] = r[(first + i) * kItems];
    }
#pragma unroll
    for (unsigned i = 0; i < kAtOnce; i++) {
      unsigned at = (first + i) * kItems + item;
      reinterpret_cast<Parts*>(chunks.expected[at / kRowParts])[at % kRowParts] = ours[i];
      reinterpret_cast<Parts*>(chunks.replayed[at / kRowParts])[at % kRowParts] = theirs[i];
      differ |= ours[i] != theirs[i];
    }
  }
  return differ;
}

// Whether it is so for any of the work-group; all are told.
MNEME_DEVICE inline bool any(bool so, unsigned item) {
  MNEME_SHARED static bool found;
  if (item == 0) found = false;
  barrier();
  if (so) found = true;
  barrier();
  return found;
}

template <class Format>
MNEME_DEVICE inline bool any_brings_difference(const void* expected, const void* replayed, unsigned item,
                                               Chunks<Format>& chunks) {
  bool wide = (reinterpret_cast<Word64>(expected) | reinterpret_cast<Word64>(replayed)) % sizeof(Word64) == 0;
  return any(wide ? brings_difference<Word64>(expected, replayed, item, chunks)
                  : brings_difference<typename Format::Word>(expected, replayed, item, chunks),
             item);
}

template <class Format, class Measure>
MNEME_DEVICE inline void compare(Measure measure, const void* expected_chunks, const void* replayed_chunks,
                                 ChunkErrors* out) {
  using Element = typename Format::Element;
  MNEME_SHARED static Lanes lanes;
  unsigned x = work_item_x(), y = work_item_y(), item = y * kLanes + x, chunk = work_group();
  const Element* expected = static_cast<const Element*>(expected_chunks) + Word64{chunk} * kChunk;
  const Element* replayed = static_cast<const Element*>(replayed_chunks) + Word64{chunk} * kChunk;
  const Element *e = expected + y * kRow + x, *r = replayed + y * kRow + x;  // this lane's
  if constexpr (sizeof(Element) < 4) {
    MNEME_SHARED static Chunks<Format> chunks;
    if (!any_brings_difference(expected, replayed, item, chunks)) {
      if (item == 0) out[chunk] = {};
      return;
    }
    e = &chunks.expected[y][x], r = &chunks.replayed[y][x];
  }

  Seen seen = look<Format>(measure, e, r);
  if (sizeof(Element) >= 4 && !any(seen.bits.same != kGroup, item)) {
    if (item == 0) out[chunk] = {};
    return;
  }
  lanes.put(item, seen.bits);
  if (!is_finite(seen.errors.first)) seen.errors = look_carefully<Format>(measure, e, r);
  lanes.put(item, seen.errors);
  lanes.add_up(item);

  SquareScale first_scale = scale_for(lanes.most_first()), second_scale = scale_for(lanes.most_second());
  Bits bits = lanes.bits();
  if (first_scale != kPlain || second_scale != kPlain) {
    barrier();  // all have read
    lanes.put(item, look_carefully<Format>(measure, e, r, factor_of(first_scale), factor_of(second_scale)));
    lanes.add_up(item);
  }
  if (item == 0) {
    out[chunk].first = {lanes.first(), lanes.first_squares(), lanes.most_first(), first_scale};
    out[chunk].second = {lanes.second(), lanes.second_squares(), lanes.most_second(), second_scale};
    out[chunk].differ = kChunk - bits.same;
    out[chunk].bytes = bits.bytes;
  }
}

}  // namespace mneme::verify
