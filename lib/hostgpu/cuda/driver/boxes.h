// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "hostgpu/cuda/driver/driver.h"

namespace mneme::hostgpu::cuda::driver {

// The copy as HIP has it, and back. An array is the memory that it lies in.
Result as_hip(const BoxCopy* copy, hipMemcpy3DParms& box);
BoxCopy as_driver(const hipMemcpy3DParms& box);

}  // namespace mneme::hostgpu::cuda::driver
