// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <memory>
#include <string>

#include "device/device.h"
#include "device/gpu/gpu.h"

namespace mneme::device::gpu {

// A vendor's GPU as a Device of this name.
std::unique_ptr<Device> make_gpu_device(const std::string& name, std::unique_ptr<Gpu> gpu);

}  // namespace mneme::device::gpu
