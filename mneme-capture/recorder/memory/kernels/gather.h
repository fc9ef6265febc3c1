// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of memory that lie here and there, brought one behind the other. For kernels and for C++ alike: no header of
// either.
#pragma once
#include "digest.h"

namespace mneme::record::cuda {

inline constexpr unsigned kGatheredAtOnce = 256;  // blocks: their addresses are the kernel's argument
inline constexpr unsigned kGatherThreads = 256;   // a thread block for each block of memory

struct Gathered {
  const Word* blocks[kGatheredAtOnce];
};

}  // namespace mneme::record::cuda
