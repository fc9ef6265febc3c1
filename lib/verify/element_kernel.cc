// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/element_kernel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "verify/errors.h"
#include "verify/numbers.h"

namespace mneme::verify {
namespace {

// Calls `visit` with how elements of the type are read.
template <class Visit>
auto with_format(ElementType type, const Visit& visit) {
  switch (type) {
    case ElementType::kU8:
      return visit(Integer<uint8_t>());
    case ElementType::kI8:
      return visit(Integer<int8_t>());
    case ElementType::kU16:
      return visit(Integer<uint16_t>());
    case ElementType::kI16:
      return visit(Integer<int16_t>());
    case ElementType::kU32:
      return visit(Integer<uint32_t>());
    case ElementType::kI32:
      return visit(Integer<int32_t>());
    case ElementType::kU64:
      return visit(Integer<uint64_t>());
    case ElementType::kI64:
      return visit(Integer<int64_t>());
    case ElementType::kF16:
      return visit(Half());
    case ElementType::kF32:
      return visit(Floating<float>());
    case ElementType::kF64:
      return visit(Floating<double>());
    case ElementType::kBF16:
      return visit(BrainFloat());
    case ElementType::kCF32:
      return visit(Complex<float>());
    case ElementType::kCF64:
      break;
  }
  return visit(Complex<double>());
}

using Values = std::vector<double>;

// In the order of kernels/chunk.h: lanes, rows, then the lanes of the row that is left. `add` is how a lane's sum takes
// in a value.
template <class Add>
double add_up(const Values& values, const Add& add) {
  double lanes[kRows][kLanes];
  for (unsigned y = 0; y < kRows; y++) {
    for (unsigned x = 0; x < kLanes; x++) {
      lanes[y][x] = 0;
      for (unsigned i = 0; i < kGroup; i++) lanes[y][x] = add(lanes[y][x], values[y * kRow + i * kLanes + x]);
    }
  }
  for (unsigned half = kRows / 2; half > 0; half /= 2) {
    for (unsigned y = 0; y < half; y++) {
      for (unsigned x = 0; x < kLanes; x++) lanes[y][x] += lanes[y + half][x];
    }
  }
  for (unsigned half = kLanes / 2; half > 0; half /= 2) {
    for (unsigned x = 0; x < half; x++) lanes[0][x] += lanes[0][x + half];
  }
  return lanes[0][0];
}

ErrorSums sums_of(const Values& errors) {
  double sum = add_up(errors, [](double before, double error) { return before + error; });
  ErrorSums sums{sum, 0, *std::ranges::max_element(errors), kPlain};
  double factor = 1;
  if (sums.largest > kLargeError && sums.largest < kInfinite) {
    sums.scale = kScaledDown;
    factor = kLargeScale;
  } else if (sums.largest < kSmallError && sums.largest > 0) {
    sums.scale = kScaledUp;
    factor = kSmallScale;
  }
  sums.squares = add_up(errors, [factor](double before, double error) {
    double scaled = error * factor;
    return std::fma(scaled, scaled, before);
  });
  return sums;
}

class PlainElementKernel : public ElementKernel {
 public:
  void compare(ElementType type, const std::byte* expected, const std::byte* replayed,
               std::span<ChunkErrors> out) override {
    with_format(type, [&](auto format) {
      constexpr size_t kSize = decltype(format)::kSize;
      for (ChunkErrors& chunk : out) {
        chunk = compare_chunk<decltype(format)>(expected, replayed);
        expected += kChunk * kSize;
        replayed += kChunk * kSize;
      }
    });
  }

 private:
  template <class Format>
  static ChunkErrors compare_chunk(const std::byte* expected, const std::byte* replayed) {
    Values absolute(kChunk), relative(kChunk);
    ChunkErrors chunk{};
    for (unsigned i = 0; i < kChunk; i++) {
      const std::byte *e = expected + i * Format::kSize, *r = replayed + i * Format::kSize;
      if (std::memcmp(e, r, Format::kSize) == 0) continue;
      chunk.differ++;
      for (size_t byte = 0; byte < Format::kSize; byte++) chunk.bytes += e[byte] != r[byte];
      ElementError error = error_between(Format::read(e), Format::read(r));
      absolute[i] = error.absolute;
      relative[i] = error.relative;
    }
    chunk.absolute = sums_of(absolute);
    chunk.relative = sums_of(relative);
    return chunk;
  }
};

}  // namespace

ElementKernel& plain_element_kernel() {
  static PlainElementKernel kernel;
  return kernel;
}

ElementError element_error(ElementType type, const std::byte* expected, const std::byte* replayed) {
  return with_format(type, [&](auto format) { return error_between(format.read(expected), format.read(replayed)); });
}

}  // namespace mneme::verify
