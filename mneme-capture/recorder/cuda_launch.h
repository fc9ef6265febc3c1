// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the launches of CUDA's runtime and of its driver have in common.
#pragma once
#include "recorder/cuda_runtime.h"

namespace mneme::record::cuda {

inline bundle::Dim3 dimensions(Dimensions d) { return {d.x, d.y, d.z}; }

inline LaunchRequest request_of(const void* function, Dimensions grid, Dimensions block, void** arguments,
                                size_t shared, Stream stream) {
  LaunchRequest request;
  request.function = function;
  request.grid = dimensions(grid);
  request.block = dimensions(block);
  request.shared_bytes = static_cast<uint32_t>(shared);
  request.arguments = {arguments, {}};
  request.stream = stream;
  return request;
}

// What a launch's attributes ask for that decides what its kernel does; others are about when it runs.
inline void add_attributes(LaunchRequest& request, const LaunchAttribute* attributes, unsigned count) {
  for (unsigned i = 0; attributes && i < count; ++i) {
    const auto& value = attributes[i].value;
    if (attributes[i].which == kLaunchCooperative) request.cooperative = value[0] != 0;
    if (attributes[i].which == kLaunchClusterDimension) request.cluster = {value[0], value[1], value[2]};
  }
}

template <class Real>
Error launch(const LaunchRequest& request, const Real& real) {
  Core* core = recorder();
  // Nothing is launched, or a graph is noted down, whose kernels are recorded when it is launched.
  if (!core || !request.function || runtime().notes_down(request.stream)) return real();
  // A launch that has not ended when it should have is not recorded; to the application it is one like others.
  Error status = core->launch(request, real);
  return status == kNotReady ? kSuccess : status;
}

}  // namespace mneme::record::cuda
