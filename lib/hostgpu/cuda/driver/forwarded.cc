// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/cuda/driver/driver.h"
#include "hostgpu/cuda/forward_rows.h"
#include "hostgpu/cuda/functions.h"

using namespace mneme::hostgpu::cuda::driver;

extern "C" {
#include "hostgpu/cuda/driver/forwarded.def"
}
