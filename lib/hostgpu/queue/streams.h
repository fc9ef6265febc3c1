// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "hostgpu/queue/queue.h"

namespace mneme::hostgpu {

// hipErrorInvalidHandle, noted, for what is no stream.
hipError_t check_stream(hipStream_t stream);

// Waits for all that was launched, as hipDeviceSynchronize does. Throws HipError: the device is or gets broken, or a
// capture forbids it.
void synchronize_device();
void synchronize_devices();

}  // namespace mneme::hostgpu
