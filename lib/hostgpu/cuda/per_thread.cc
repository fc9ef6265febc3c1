// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What programs call that are compiled for a default stream of each thread's (--default-stream per-thread), as far as
// forwarded.def has no row for it: a stream that is null is the calling thread's own.
#include "hostgpu/cuda/functions.h"

using namespace mneme::hostgpu::cuda;

extern "C" Error cudaLaunchKernelExC_ptsz(const LaunchConfig* config, const void* function, void** arguments) {
  if (!config) return kInvalidValue;
  LaunchConfig own_config = *config;
  own_config.stream = mneme::vendor::per_thread(config->stream);
  return cudaLaunchKernelExC(&own_config, function, arguments);
}
