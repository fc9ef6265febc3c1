// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For the kernel and for who launches it: no header of either.
#pragma once

namespace mneme::device::gpu {

inline constexpr unsigned kBytes = 64 << 10;  // of a block
inline constexpr unsigned kThreads = 256;
inline constexpr unsigned kPiece = kThreads * 16;  // bytes that these threads write at once

// Words from `begin` to `end`, inclusive, become as far from `target`.
struct Way {
  unsigned long long begin, end, target;
};

}  // namespace mneme::device::gpu
