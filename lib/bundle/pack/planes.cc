// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/pack/planes.h"

#include <cstring>

namespace mneme::bundle {
namespace {

// Sixteen elements at a time; interleaving the halves of a list of byte vectors log2(16) times over transposes it,
// which the compiler turns into the processor's unpack instructions.
typedef uint8_t Lanes __attribute__((vector_size(16)));

Lanes low_pairs(Lanes a, Lanes b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
Lanes high_pairs(Lanes a, Lanes b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

// Of kStride vectors taken as one list of bytes: position i goes where interleaving both halves puts it.
template <uint32_t kStride>
void interleave(Lanes (&lanes)[kStride]) {
  Lanes out[kStride];
  for (uint32_t i = 0; i < kStride / 2; ++i) {
    out[2 * i] = low_pairs(lanes[i], lanes[i + kStride / 2]);
    out[2 * i + 1] = high_pairs(lanes[i], lanes[i + kStride / 2]);
  }
  std::memcpy(lanes, out, sizeof out);
}

// The list has 16 × kStride = 2^n bytes; a transposition rotates the n bits of the position: log2(kStride)
// interleavings gather elements from planes, the other four take elements apart into planes.
template <uint32_t kStride>
void split(const std::byte* in, std::byte* out, size_t size) {
  const size_t plane = size / kStride;
  for (size_t i = 0; i < plane; i += 16) {
    Lanes lanes[kStride];
    std::memcpy(lanes, in + i * kStride, sizeof lanes);
    for (int step = 0; step < 4; ++step) interleave<kStride>(lanes);
    for (uint32_t k = 0; k < kStride; ++k) std::memcpy(out + k * plane + i, &lanes[k], 16);
  }
}

template <uint32_t kStride>
void join(const std::byte* in, std::byte* out, size_t size) {
  const size_t plane = size / kStride;
  for (size_t i = 0; i < plane; i += 16) {
    Lanes lanes[kStride];
    for (uint32_t k = 0; k < kStride; ++k) std::memcpy(&lanes[k], in + k * plane + i, 16);
    for (uint32_t done = 1; done < kStride; done *= 2) interleave<kStride>(lanes);
    std::memcpy(out + i * kStride, lanes, sizeof lanes);
  }
}

}  // namespace

void split_planes(const std::byte* in, std::byte* out, size_t size, uint32_t stride) {
  if (stride == 4) return split<4>(in, out, size);
  split<8>(in, out, size);
}

void join_planes(const std::byte* in, std::byte* out, size_t size, uint32_t stride) {
  if (stride == 4) return join<4>(in, out, size);
  join<8>(in, out, size);
}

}  // namespace mneme::bundle
