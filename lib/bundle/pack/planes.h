// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstddef>
#include <cstdint>

namespace mneme::bundle {

// Numbers compress better, and faster, when the first bytes of all of a block's elements stand together, then all
// second bytes, and so on: signs and exponents repeat, low digits do not. `stride`: element size, 4 or 8. `size`:
// bytes, a multiple of 128.
void split_planes(const std::byte* in, std::byte* out, size_t size, uint32_t stride);
void join_planes(const std::byte* in, std::byte* out, size_t size, uint32_t stride);

}  // namespace mneme::bundle
