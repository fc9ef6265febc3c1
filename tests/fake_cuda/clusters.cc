// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches in clusters, which the host device refuses: here for kernels that are the same without.
#include <vector>

#include "hostgpu/cuda/cuda.h"

using namespace mneme::hostgpu::cuda;

extern "C" {

Error mneme_launch_without_clusters(const LaunchConfig* config, const void* function, void** arguments);

Error cudaLaunchKernelExC(const LaunchConfig* config, const void* function, void** arguments) {
  if (!config) return kInvalidValue;
  std::vector<LaunchAttribute> attributes(config->attributes, config->attributes + config->count);
  std::erase_if(attributes,
                [](const LaunchAttribute& a) { return a.which == mneme::vendor::cuda::kLaunchClusterDimension; });
  LaunchConfig others = *config;
  others.attributes = attributes.data();
  others.count = static_cast<unsigned>(attributes.size());
  return mneme_launch_without_clusters(&others, function, arguments);
}

}  // extern "C"
