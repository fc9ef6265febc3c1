// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Streams do their work at once, on the calling thread: they are trivially in order, and never busy.
#pragma once
#include "hostgpu/hip.h"

namespace mneme::hostgpu {

// hipErrorInvalidHandle, noted, for what is no stream.
hipError_t check_stream(hipStream_t stream);

// The moment of hipEventRecord, for whoever records an event on the application's behalf. Throws HipError.
void record_event(hipEvent_t event);

}  // namespace mneme::hostgpu
