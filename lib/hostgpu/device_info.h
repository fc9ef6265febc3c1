// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "hostgpu/hip.h"

namespace mneme::hostgpu {

const hipDeviceProp_t& properties();
void check_device(int device);  // throws HipError(hipErrorInvalidDevice)

}  // namespace mneme::hostgpu
