// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <string>

#include "bundle/format.h"
#include "objects/launch_arguments.h"

namespace mneme::record {

using Arguments = objects::LaunchArguments;
using objects::arguments_of;

// A launch as the application asks for it. Borrows what the application passes, for as long as the call lasts.
struct LaunchRequest {
  const void* function = nullptr;
  bundle::Dim3 grid, block;
  uint32_t shared_bytes = 0;
  Arguments arguments;
  void* stream = nullptr;
  bool cooperative = false;
  bundle::Dim3 cluster = {};  // blocks
  void* start = nullptr;  // events of HIP's extended launches, recorded before and after it
  void* stop = nullptr;
  // All that CUDA's extended launches say, of which the two above are a part: LaunchAttribute of vendor/cuda/api.h.
  const void* attributes = nullptr;
  unsigned attribute_count = 0;
};

// The bytes that the kernel gets, padding zeroed. Throws Error with why there are none.
std::string gather_arguments(const bundle::KernelInfo& kernel, const Arguments& arguments);

}  // namespace mneme::record
