// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <chrono>

#include "recorder/hip/devices.h"

namespace mneme::record::hip {

// By AMD's runtime: waits for a device, or for a stream, and no longer than that: then kStillRunning. It cannot be
// asked without an answer of "not yet" that the application may take for its own calls'.
Status wait_for_device(int device, std::chrono::milliseconds patience);
Status wait_for(void* stream, int device, std::chrono::milliseconds patience);

}  // namespace mneme::record::hip
