// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "recorder/runtime/devices.h"

namespace mneme::record::hip {

extern const Devices devices;

inline bool succeeds(int status) { return devices.succeeds(status); }

struct OnDevice : Entered {
  explicit OnDevice(int device) : Entered(devices, device) {}
};

}  // namespace mneme::record::hip
