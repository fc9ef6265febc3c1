// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// On a CPU: one work-item for each chunk, of which whoever calls has left out those that do not differ. A row's lanes
// are one vector.
#pragma once
#include "lanes.h"

namespace mneme::verify {

// Counts what is the same, bit for bit, in rows of a chunk.
template <class Format>
class Alike {
 public:
  // Returns whether all of the row is.
  MNEME_DEVICE bool add_row(const typename Format::Element* expected, const typename Format::Element* replayed) {
    auto *e = reinterpret_cast<const Word8*>(expected), *r = reinterpret_cast<const Word8*>(replayed);
    Many<Word8, kStep> same_bytes = 0;
#pragma unroll 4
    for (unsigned at = 0; at < kRowBytes; at += kStep) {
      same_bytes -= equal(load<Many<Word8, kStep>>(e + at), load<Many<Word8, kStep>>(r + at));
      if constexpr (kSize > 1) words_ -= same_elements(load<Words>(e + at), load<Words>(r + at));
    }
    auto pairs = __builtin_bit_cast(Pairs, same_bytes);
    bytes_ += (pairs & 0xFF) + (pairs >> 8);
    constexpr Word8 kAll = kRowBytes / kStep;
    return __builtin_reduce_and(same_bytes == kAll);
  }

  MNEME_DEVICE unsigned bytes() const {
    unsigned sum = 0;
    for (unsigned i = 0; i < kStep / 2; i++) sum += bytes_[i];
    return sum;
  }

  MNEME_DEVICE unsigned elements() const {
    if constexpr (kSize == 1) return bytes();
    unsigned sum = 0;
    for (unsigned i = 0; i < kStep / sizeof(Whole); i++) sum += static_cast<unsigned>(words_[i]);
    return sum * sizeof(Whole) / kSize;
  }

 private:
  static constexpr unsigned kSize = sizeof(typename Format::Element), kRowBytes = kRow * kSize;
  static constexpr unsigned kStep = 32;  // bytes
  static_assert(kRowBytes / kStep < 256, "or as many same bytes are none");
  // An element, or half of one of two words of 64 bits.
  using Whole = typename WordOf<(kSize < 8 ? kSize : 8)>::Type;
  using Words = Many<Whole, kStep / sizeof(Whole)>;
  using Pairs = Many<Word16, kStep / 2>;

  // All bits set where they are.
  template <class Vector>
  MNEME_DEVICE static Vector equal(Vector e, Vector r) {
    return __builtin_bit_cast(Vector, e == r);
  }
  MNEME_DEVICE static Words same_elements(Words e, Words r) {
    Words same = equal(e, r);
    if constexpr (kSize > sizeof(Whole)) same &= __builtin_shufflevector(same, same, 1, 0, 3, 2);
    return same;
  }

  Words words_ = 0;
  Pairs bytes_ = 0;
};

// While divisions keep the CPU busy, memory is to be on its way.
constexpr unsigned kLine = 64, kAhead = 2048;  // bytes

// A row's errors, the quick way.
template <class Format, class Measure>
MNEME_DEVICE inline Errors<kLanes> look(Measure measure, const typename Format::Element* expected,
                                        const typename Format::Element* replayed) {
  Errors<kLanes> errors{};
#pragma unroll 2
  for (unsigned i = 0; i < kRow; i += kLanes) {
    if (i * sizeof(typename Format::Element) % kLine == 0) {
      __builtin_prefetch(reinterpret_cast<const Word8*>(expected + i) + kAhead);
      __builtin_prefetch(reinterpret_cast<const Word8*>(replayed + i) + kAhead);
    }
    errors.add(measure.template quick<Format, kLanes>(Format::template in_row<kLanes>(expected + i),
                                                      Format::template in_row<kLanes>(replayed + i)));
  }
  return errors;
}

// A work-item's lanes, to be added up.
struct Rows {
  Errors<kLanes> rows[kRows];

  MNEME_DEVICE void put(unsigned x, unsigned y, const Errors<1>& errors) {
    rows[y].first[x] = errors.first;
    rows[y].second[x] = errors.second;
    rows[y].first_squares[x] = errors.first_squares;
    rows[y].second_squares[x] = errors.second_squares;
    rows[y].most_first[x] = errors.most_first;
    rows[y].most_second[x] = errors.most_second;
  }

  MNEME_DEVICE Errors<1> add_up() {
    for (unsigned half = kRows / 2; half > 0; half /= 2) {
      for (unsigned y = 0; y < half; y++) rows[y] += rows[y + half];
    }
    return add_up(rows[0]);
  }

 private:
  template <unsigned kCount>
  MNEME_DEVICE static Errors<1> add_up(const Errors<kCount>& lanes) {
    if constexpr (kCount == 1) {
      return lanes;
    } else {
      Errors<kCount / 2> lower{lanes.first.lo,          lanes.second.lo,     lanes.first_squares.lo,
                               lanes.second_squares.lo, lanes.most_first.lo, lanes.most_second.lo};
      lower += {lanes.first.hi,          lanes.second.hi,     lanes.first_squares.hi,
                lanes.second_squares.hi, lanes.most_first.hi, lanes.most_second.hi};
      return add_up(lower);
    }
  }
};

template <class Format, class Measure>
MNEME_DEVICE inline void compare(Measure measure, const void* expected_chunks, const void* replayed_chunks,
                                 ChunkErrors* out) {
  using Element = typename Format::Element;
  const Element* expected = static_cast<const Element*>(expected_chunks) + Word64{work_group()} * kChunk;
  const Element* replayed = static_cast<const Element*>(replayed_chunks) + Word64{work_group()} * kChunk;

  Rows lanes;
  Alike<Format> alike;
#pragma nounroll
  for (unsigned y = 0; y < kRows; y++) {
    const Element *e = expected + y * kRow, *r = replayed + y * kRow;
    Errors<kLanes> errors{};
    if (!alike.add_row(e, r)) errors = look<Format>(measure, e, r);
    lanes.rows[y] = errors;
    if (__builtin_reduce_and(errors.first < kInfinity)) continue;
#pragma nounroll
    for (unsigned x = 0; x < kLanes; x++) {
      if (!is_finite(lanes.rows[y].first[x])) lanes.put(x, y, look_carefully<Format>(measure, e + x, r + x));
    }
  }
  Errors<1> sums = lanes.add_up();

  SquareScale first_scale = scale_for(sums.most_first), second_scale = scale_for(sums.most_second);
  if (first_scale != kPlain || second_scale != kPlain) {
#pragma nounroll
    for (unsigned i = 0; i < kRows * kLanes; i++) {
      unsigned y = i / kLanes, x = i % kLanes, at = y * kRow + x;
      lanes.put(x, y,
                look_carefully<Format>(measure, expected + at, replayed + at, factor_of(first_scale),
                                       factor_of(second_scale)));
    }
    sums = lanes.add_up();
  }
  out[work_group()] = {{sums.first, sums.first_squares, sums.most_first, first_scale},
                       {sums.second, sums.second_squares, sums.most_second, second_scale},
                       kChunk - alike.elements(),
                       kChunk * static_cast<unsigned>(sizeof(Element)) - alike.bytes()};
}

}  // namespace mneme::verify
