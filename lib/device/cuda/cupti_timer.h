// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <memory>

#include "device/gpu/kernel_timer.h"

namespace mneme::device::cuda {

// To be called before the first context is made: CUPTI has to see it. Null: there is no CUPTI.
std::unique_ptr<gpu::KernelTimer> make_cupti_timer();

}  // namespace mneme::device::cuda
