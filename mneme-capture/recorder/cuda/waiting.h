// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <chrono>

#include "recorder/cuda/devices.h"

namespace mneme::record::cuda {

// Wait for what is in a stream, or for all that the thread's context has to do. kStillRunning: not in this time.
Status wait_for(void* stream, std::chrono::milliseconds patience);
Status wait_for_device(std::chrono::milliseconds patience);

}  // namespace mneme::record::cuda
