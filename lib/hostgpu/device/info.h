// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "codegen/shared_memory.h"
#include "hostgpu/device/devices.h"
#include "hostgpu/hip.h"

namespace mneme::hostgpu {

const hipDeviceProp_t& properties();
// As the GPU has it that the application was built for.
const codegen::SharedMemory& shared_memory();

}  // namespace mneme::hostgpu
