// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The attributes of a launch that change what it does; promises and preferences have no meaning here.
#pragma once
#include "hostgpu/cuda/cuda.h"

namespace mneme::hostgpu::cuda {

struct Wishes {
  bool cooperative = false, clusters = false;
};
inline Wishes wishes_of(const LaunchAttribute* attributes, unsigned count) {
  Wishes wishes;
  for (unsigned i = 0; i < count; ++i) {
    const LaunchAttribute& attribute = attributes[i];
    if (attribute.which == vendor::cuda::kLaunchCooperative) wishes.cooperative = attribute.value[0] != 0;
    // The first extent, and with it the others, may be one.
    if (attribute.which == vendor::cuda::kLaunchClusterDimension) {
      const auto& extents = attribute.value;
      wishes.clusters = extents[0] * extents[1] * extents[2] > 1;
    }
  }
  return wishes;
}

inline constexpr char kNoClusters[] = "clusters of blocks are not there on the host device";

}  // namespace mneme::hostgpu::cuda
