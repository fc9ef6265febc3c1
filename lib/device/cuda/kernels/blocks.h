// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For the kernel and for who launches it: no header of either.
#pragma once

namespace mneme::device::cuda {

inline constexpr unsigned kBytes = 64 << 10;  // of a block
inline constexpr unsigned kThreads = 256;

}  // namespace mneme::device::cuda
