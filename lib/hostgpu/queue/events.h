// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "hostgpu/queue/queue.h"

namespace mneme::hostgpu {

// As hipEventRecord and hipStreamWaitEvent do. Throw HipError for what is no event, and what a capture forbids.
void record_event(hipEvent_t event, const std::shared_ptr<Queue>& queue);
void wait_for_event(const std::shared_ptr<Queue>& queue, hipEvent_t event);
void check_event(hipEvent_t event);

}  // namespace mneme::hostgpu
