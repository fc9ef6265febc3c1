// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <memory>

#include "device/device.h"
#include "verify/element_kernel.h"

namespace mneme::verify {

// Compares on the device (kernels/compare.cc), which is borrowed. Throws Error for one that has no comparison kernels.
// On the host no better level of x86-64 than this is used, and none that the machine lacks.
std::unique_ptr<ElementKernel> make_device_kernel(device::Device& device, unsigned best_level = 4);

}  // namespace mneme::verify
