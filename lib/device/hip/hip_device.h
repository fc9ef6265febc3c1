// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <memory>

#include "device/device.h"

namespace mneme::device {

std::unique_ptr<Device> make_hip_device();  // AMD's first

}  // namespace mneme::device
