// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "device/device.h"
#include "device/gpu/gpu.h"

namespace mneme::device::gpu {

// Gives threads what the application had, since how deep kernels call is often known to it alone, and never less than
// there is: it stays for later launches. Warns where there is less than that afterwards.
void give_stacks(const Launch& launch, Gpu& gpu);

}  // namespace mneme::device::gpu
