// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <optional>
#include <span>

#include "base/digest.h"
#include "verify/element_type.h"
#include "verify/errors.h"
#include "verify/kernels/chunk.h"

namespace mneme::verify {

// Which two errors are measured: the absolute one first and the relative one second; or with a scale (a number from 0
// on) the scaled one first and the one in ULPs second.
using Measure = std::optional<double>;
inline constexpr Measure kPlainMeasure = std::nullopt;

// Compares whole chunks of elements (kernels/chunk.h). Whoever computes it, the same chunks give the same bits.
class ElementKernel {
 public:
  virtual ~ElementKernel() = default;

  // The first out.size() chunks from these addresses on, which are multiples of an element's size, or of half a complex
  // one's.
  virtual void compare(ElementType type, Measure measure, const std::byte* expected, const std::byte* replayed,
                       std::span<ChunkErrors> out) = 0;
};

// In plain C++, element by element: needs no device, and is what the others are compared with.
ElementKernel& plain_element_kernel();

// So many elements' magnitudes, of complex ones their moduli; NaN and infinite ones as they are.
void read_magnitudes(ElementType type, const std::byte* elements, std::span<double> out);

// One element's errors.
struct ErrorPair {
  double first = 0, second = 0;
};
ErrorPair element_error(ElementType type, Measure measure, const std::byte* expected, const std::byte* replayed);

}  // namespace mneme::verify
