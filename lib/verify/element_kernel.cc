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

bool is_finite(double value) { return std::isfinite(value); }
template <class T>
  requires std::is_integral_v<T>
bool is_finite(T) {
  return true;
}

template <class T>
double magnitude_of(T value) {
  return std::fabs(static_cast<double>(value));
}
double magnitude_of(std::complex<double> value) { return modulus(std::fabs(value.real()), std::fabs(value.imag())); }

// Steps between two numbers of the type; of complex ones the more of both parts'.
template <class Format>
double ulps_between(const std::byte* e, const std::byte* r) {
  if constexpr (std::is_same_v<typename Format::Value, std::complex<double>>) {
    using Part = typename Format::Part;
    return std::max(ulps_between<Part>(e, r), ulps_between<Part>(e + Part::kSize, r + Part::kSize));
  } else {
    double absolute = error_between(Format::read(e), Format::read(r)).absolute;
    if (absolute == 0 || !is_finite(Format::read(e)) || !is_finite(Format::read(r))) return absolute;
    return error_between(Format::place(e), Format::place(r)).absolute;
  }
}

template <class Format>
ErrorPair measured(Measure measure, const std::byte* e, const std::byte* r) {
  auto expected = Format::read(e), replayed = Format::read(r);
  if (measure) return {scaled_error(expected, replayed, *measure), ulps_between<Format>(e, r)};
  ElementError error = error_between(expected, replayed);
  return {error.absolute, error.relative};
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
  void compare(ElementType type, Measure measure, const std::byte* expected, const std::byte* replayed,
               std::span<ChunkErrors> out) override {
    with_format(type, [&](auto format) {
      constexpr size_t kSize = decltype(format)::kSize;
      for (ChunkErrors& chunk : out) {
        chunk = compare_chunk<decltype(format)>(measure, expected, replayed);
        expected += kChunk * kSize;
        replayed += kChunk * kSize;
      }
    });
  }

 private:
  template <class Format>
  static ChunkErrors compare_chunk(Measure measure, const std::byte* expected, const std::byte* replayed) {
    Values first(kChunk), second(kChunk);
    ChunkErrors chunk{};
    for (unsigned i = 0; i < kChunk; i++) {
      const std::byte *e = expected + i * Format::kSize, *r = replayed + i * Format::kSize;
      if (std::memcmp(e, r, Format::kSize) == 0) continue;
      chunk.differ++;
      for (size_t byte = 0; byte < Format::kSize; byte++) chunk.bytes += e[byte] != r[byte];
      ErrorPair error = measured<Format>(measure, e, r);
      first[i] = error.first;
      second[i] = error.second;
    }
    chunk.first = sums_of(first);
    chunk.second = sums_of(second);
    return chunk;
  }
};

}  // namespace

ElementKernel& plain_element_kernel() {
  static PlainElementKernel kernel;
  return kernel;
}

void read_magnitudes(ElementType type, const std::byte* elements, std::span<double> out) {
  with_format(type, [&](auto format) {
    for (double& value : out) {
      value = magnitude_of(format.read(elements));
      elements += decltype(format)::kSize;
    }
  });
}

ErrorPair element_error(ElementType type, Measure measure, const std::byte* expected, const std::byte* replayed) {
  return with_format(type, [&](auto format) { return measured<decltype(format)>(measure, expected, replayed); });
}

}  // namespace mneme::verify
