// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is found out about a chunk of elements, and in which order errors are added up. For kernels and for the host
// alike: no header of either.
//
// A segment's elements are numbered from 0; chunk c has those from c * kChunk on, row y of a chunk those from
// y * kLanes * kGroup on, and lane x of a row those at x, x + kLanes, x + 2 * kLanes, …. A lane adds up its kGroup
// errors in that order. Then the rows of the upper half are added to those of the lower half, lane by lane, until one
// is left, and its lanes likewise. So no more than 39 roundings lie between an error and the chunk's sum, which is off
// by less than 5e-15 of itself. Sums of chunks are added in order, compensated. An element that is not compared counts
// as one without error. All operations are IEEE's, to nearest, none fused but the product and the sum by which a lane
// takes in a square: every device gives the same bits.
#pragma once

namespace mneme::verify {

inline constexpr unsigned kLanes = 8;
inline constexpr unsigned kRows = 16;
inline constexpr unsigned kGroup = 32;  // elements of a lane
inline constexpr unsigned kRow = kLanes * kGroup;
inline constexpr unsigned kChunk = kRow * kRows;  // elements

// What errors are multiplied by before they are squared, by the largest finite one of the chunk: so that squares are
// doubles, and those that matter lose no bits.
enum SquareScale : unsigned long long { kPlain = 0, kScaledDown = 1, kScaledUp = 2 };
inline constexpr double kLargeError = 0x1p+486, kLargeScale = 0x1p-538;
inline constexpr double kSmallError = 0x1p-400, kSmallScale = 0x1p+537;

struct ErrorSums {
  double sum;
  double squares;
  double largest;
  SquareScale scale;  // of `squares`
};

// Two errors of each element are measured at once: the absolute one first and the relative one second, or the scaled
// one first and the one in ULPs second.
struct ChunkErrors {
  ErrorSums first, second;
  unsigned long long differ;  // elements of which a bit differs
  unsigned long long bytes;   // that differ
};

}  // namespace mneme::verify
