// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "device/cuda/driver.h"
#include "device/device.h"

namespace mneme::device::cuda {

// Gives a kernel to the GPU, in the default stream: with the launch's dimensions, in clusters and as a cooperative one
// if it says so. `arguments` has a pointer to each of its arguments. What the driver says of it.
Result launch_kernel(Function* function, const Launch& launch, void** arguments);

}  // namespace mneme::device::cuda
