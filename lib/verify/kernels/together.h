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

// A lane's elements, the quick way. Those that are the same are no error, and an error of 0 leaves all as it is.
template <class Format>
MNEME_DEVICE inline Seen look(const typename Format::Element* expected, const typename Format::Element* replayed) {
  using Element = typename Format::Element;
  Errors<1> errors{};
  typename Format::Word same = 0, bytes = 0;  // in each byte of the latter, how many there differ
#pragma nounroll
  for (unsigned first = 0; first < kGroup; first += kAtOnce<Format>) {
    Element e[kAtOnce<Format>], r[kAtOnce<Format>];
#pragma unroll
    for (unsigned i = 0; i < kAtOnce<Format>; i++) {
      e[i] = expected[(first + i) * kLanes];
      r[i] = replayed[(first + i) * kLanes];
    }
    unsigned same_here = 0;
#pragma unroll
    for (unsigned i = 0; i < kAtOnce<Format>; i++) same_here += static_cast<unsigned>(Format::same(e[i], r[i]));
    same += same_here;
    if (same_here == kAtOnce<Format>) continue;
#pragma unroll
    for (unsigned i = 0; i < kAtOnce<Format>; i++) {
      errors.add(Format::template quick<1>(e[i], r[i]));
      bytes += Format::bytes(e[i], r[i]);
    }
  }
  return {errors, {static_cast<unsigned>(same), sum_of_bytes(bytes)}};
}

// A work-group's lanes, to be added up.
struct Lanes {
  double absolute[kRows][kLanes], relative[kRows][kLanes];
  double absolute_squares[kRows][kLanes], relative_squares[kRows][kLanes];
  double most_absolute[kRows][kLanes], most_relative[kRows][kLanes];
  unsigned same[kRows][kLanes], bytes[kRows][kLanes];

  MNEME_DEVICE void put(unsigned x, unsigned y, const Errors<1>& errors) {
    absolute[y][x] = errors.absolute;
    relative[y][x] = errors.relative;
    absolute_squares[y][x] = errors.absolute_squares;
    relative_squares[y][x] = errors.relative_squares;
    most_absolute[y][x] = errors.most_absolute;
    most_relative[y][x] = errors.most_relative;
  }

  MNEME_DEVICE void add(unsigned x, unsigned y, unsigned other_x, unsigned other_y) {
    absolute[y][x] += absolute[other_y][other_x];
    relative[y][x] += relative[other_y][other_x];
    absolute_squares[y][x] += absolute_squares[other_y][other_x];
    relative_squares[y][x] += relative_squares[other_y][other_x];
    most_absolute[y][x] = larger(most_absolute[y][x], most_absolute[other_y][other_x]);
    most_relative[y][x] = larger(most_relative[y][x], most_relative[other_y][other_x]);
    same[y][x] += same[other_y][other_x];
    bytes[y][x] += bytes[other_y][other_x];
  }

  // Leaves the sums where x and y are 0. Every work-item calls it and may read them then.
  MNEME_DEVICE void add_up(unsigned x, unsigned y) {
#pragma nounroll
    for (unsigned half = kRows / 2; half > 0; half /= 2) {
      barrier();
      if (y < half) add(x, y, x, y + half);
    }
#pragma nounroll
    for (unsigned half = kLanes / 2; half > 0; half /= 2) {
      barrier();
      if (y == 0 && x < half) add(x, 0, x + half, 0);
    }
    barrier();
  }
};

// Whether this work-item finds a difference in its part of the chunk, which begins at these addresses.
template <class Part>
MNEME_DEVICE inline bool finds_difference(const void* expected, const void* replayed, unsigned bytes, unsigned item) {
  using Parts [[gnu::may_alias]] = Part;
  auto *e = static_cast<const Parts*>(expected) + item, *r = static_cast<const Parts*>(replayed) + item;
  Part differ = 0;
#pragma unroll
  for (unsigned i = 0; i < bytes / sizeof(Part); i += kLanes * kRows) differ |= static_cast<Part>(e[i] ^ r[i]);
  return differ != 0;
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
MNEME_DEVICE inline bool any_finds_difference(const void* expected, const void* replayed, unsigned item) {
  constexpr unsigned kBytes = kChunk * sizeof(typename Format::Element);
  bool wide = (reinterpret_cast<Word64>(expected) | reinterpret_cast<Word64>(replayed)) % sizeof(Word64) == 0;
  return any(wide ? finds_difference<Word64>(expected, replayed, kBytes, item)
                  : finds_difference<typename Format::Word>(expected, replayed, kBytes, item),
             item);
}

template <class Format>
MNEME_DEVICE inline void compare(const void* expected_chunks, const void* replayed_chunks, ChunkErrors* out) {
  using Element = typename Format::Element;
  MNEME_SHARED static Lanes lanes;
  unsigned x = work_item_x(), y = work_item_y(), item = y * kLanes + x, chunk = work_group();
  const Element* expected = static_cast<const Element*>(expected_chunks) + Word64{chunk} * kChunk;
  const Element* replayed = static_cast<const Element*>(replayed_chunks) + Word64{chunk} * kChunk;
  // Small elements are looked at one by one only where it is worth it; others are read once.
  if (sizeof(Element) < 4 && !any_finds_difference<Format>(expected, replayed, item)) {
    if (item == 0) out[chunk] = {};
    return;
  }
  const Element *e = expected + y * kRow + x, *r = replayed + y * kRow + x;  // this lane's

  Seen seen = look<Format>(e, r);
  if (sizeof(Element) >= 4 && !any(seen.bits.same != kGroup, item)) {
    if (item == 0) out[chunk] = {};
    return;
  }
  lanes.put(x, y, seen.errors);
  lanes.same[y][x] = seen.bits.same;
  lanes.bytes[y][x] = seen.bits.bytes;
  barrier();
  if (!is_finite(lanes.absolute[y][x])) lanes.put(x, y, look_carefully<Format>(e, r));
  lanes.add_up(x, y);

  SquareScale absolute_scale = scale_for(lanes.most_absolute[0][0]),
              relative_scale = scale_for(lanes.most_relative[0][0]);
  unsigned differ = kChunk - lanes.same[0][0], bytes = lanes.bytes[0][0];
  if (absolute_scale != kPlain || relative_scale != kPlain) {
    barrier();  // all have read
    lanes.put(x, y, look_carefully<Format>(e, r, factor_of(absolute_scale), factor_of(relative_scale)));
    lanes.add_up(x, y);
  }
  if (x == 0 && y == 0) {
    out[chunk].absolute = {lanes.absolute[0][0], lanes.absolute_squares[0][0], lanes.most_absolute[0][0],
                           absolute_scale};
    out[chunk].relative = {lanes.relative[0][0], lanes.relative_squares[0][0], lanes.most_relative[0][0],
                           relative_scale};
    out[chunk].differ = differ;
    out[chunk].bytes = bytes;
  }
}

}  // namespace mneme::verify
