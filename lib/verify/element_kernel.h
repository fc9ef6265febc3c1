// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <span>

#include "base/digest.h"
#include "verify/element_type.h"
#include "verify/errors.h"
#include "verify/kernels/chunk.h"

namespace mneme::verify {

// Compares whole chunks of elements (kernels/chunk.h). Whoever computes it, the same chunks give the same bits.
class ElementKernel {
 public:
  virtual ~ElementKernel() = default;

  // The first out.size() chunks from these addresses on, which are multiples of an element's size, or of half a complex
  // one's.
  virtual void compare(ElementType type, const std::byte* expected, const std::byte* replayed,
                       std::span<ChunkErrors> out) = 0;
};

// In plain C++, element by element: needs no device, and is what the others are compared with.
ElementKernel& plain_element_kernel();

// One element's errors.
ElementError element_error(ElementType type, const std::byte* expected, const std::byte* replayed);

}  // namespace mneme::verify
