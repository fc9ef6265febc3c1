// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/launch.h"

namespace mneme::device::cuda {

Result launch_kernel(Function* function, const Launch& launch, void** arguments) {
  const bundle::Dim3 &grid = launch.grid, &block = launch.block, &cluster = launch.cluster;
  LaunchAttribute attributes[2] = {};
  unsigned count = 0;
  if (launch.cooperative) attributes[count++] = {kLaunchCooperative, {}, {1}};
  if (cluster.count() > 1) attributes[count++] = {kLaunchClusterDimension, {}, {cluster.x, cluster.y, cluster.z}};
  if (count == 0) {
    return driver().cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, launch.shared_bytes,
                                   nullptr, arguments, nullptr);
  }
  constexpr uint64_t kPortable = 8;  // blocks that every GPU with clusters can have in one
  if (cluster.count() > kPortable) {
    if (Result refused = driver().cuFuncSetAttribute(function, kNonPortableCluster, 1)) return refused;
  }
  LaunchConfiguration configuration{
      {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, launch.shared_bytes, nullptr, attributes, count};
  return driver().cuLaunchKernelEx(&configuration, function, arguments, nullptr);
}

}  // namespace mneme::device::cuda
