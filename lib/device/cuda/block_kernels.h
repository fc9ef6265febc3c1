// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "device/cuda/driver.h"

namespace mneme::device::cuda {

// A kernel of kernels/blocks.cc, in the context that is current. Throws Error.
Function* block_kernel(const char* name);

}  // namespace mneme::device::cuda
