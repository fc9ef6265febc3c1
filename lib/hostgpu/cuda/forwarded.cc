// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/cuda/forward_rows.h"
#include "hostgpu/cuda/functions.h"
#include "hostgpu/extensions.h"

using namespace mneme::hostgpu::cuda;

extern "C" {
#include "hostgpu/cuda/forwarded.def"
}
