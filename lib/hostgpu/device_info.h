// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "hostgpu/devices.h"
#include "hostgpu/hip.h"

namespace mneme::hostgpu {

const hipDeviceProp_t& properties();

}  // namespace mneme::hostgpu
