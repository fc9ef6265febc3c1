// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "device/cuda/driver.h"

namespace mneme::device::cuda {

// A kernel of kernels/blocks.cc, in the context that is current. Throws Error.
Function* block_kernel(const char* name);
// Loads them all, which is done otherwise when the first is wanted. Throws Error.
void prepare_block_kernels();

}  // namespace mneme::device::cuda
