// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What launches of start-up code's kernels, of modules' and of graphs have in common.
#pragma once
#include "recorder/hip/runtime.h"

namespace mneme::record::hip {

inline bundle::Dim3 dimensions(Dimensions d) { return {d.x, d.y, d.z}; }

template <class Real>
Error launch(const LaunchRequest& request, const Real& real) {
  Core* recorder = core();
  // Of a graph that is noted down, kernels are recorded when it is launched.
  if (!recorder || runtime().notes_down(request.stream)) return real();
  // A launch that has not ended when it should have is not recorded; to the application it is one like others.
  Error status = recorder->launch(request, real);
  return status == kNotReady ? kSuccess : status;
}

}  // namespace mneme::record::hip
