// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches. A function is one of a module's or a library's, or a kernel of the program's own: HIP knows all of them.
#include <vector>

#include "hostgpu/cuda/driver/driver.h"
#include "hostgpu/cuda/launch_wishes.h"

namespace mneme::hostgpu::cuda::driver {
namespace {

struct Launch {
  Function function;
  dim3 grid, block;
  unsigned shared;
  hipStream_t stream;
  void** arguments;
  void** extra = nullptr;
  bool cooperative = false;
};

// The keys are HIP's, but for the one that ends the list.
std::vector<void*> list_of(void** extra) {
  std::vector<void*> list;
  for (void** at = extra; at && *at; at += 2) list.insert(list.end(), {at[0], at[1]});
  list.push_back(HIP_LAUNCH_PARAM_END);
  return list;
}

Result launch(const Launch& it) {
  const dim3 &grid = it.grid, &block = it.block;
  return answer([&] {
    if (it.cooperative) {
      return hipModuleLaunchCooperativeKernel(it.function, grid.x, grid.y, grid.z, block.x, block.y, block.z, it.shared,
                                              it.stream, it.arguments);
    }
    std::vector<void*> list = list_of(it.extra);
    return hipModuleLaunchKernel(it.function, grid.x, grid.y, grid.z, block.x, block.y, block.z, it.shared, it.stream,
                                 it.arguments, it.extra ? list.data() : nullptr);
  });
}

Result launch(const DriverLaunchConfig* config, Function function, void** arguments, void** extra,
              hipStream_t (*stream)(hipStream_t)) {
  if (!config) return kInvalidValue;
  Wishes wishes = wishes_of(config->attributes, config->count);
  if (wishes.clusters) return answer([] { return mneme_hostgpu_refuse("cuLaunchKernelEx", kNoClusters); });
  if (wishes.cooperative && extra) return kInvalidValue;
  return launch({function, as_hip(config->grid), as_hip(config->block), config->shared, stream(as_hip(config->stream)),
                 arguments, extra, wishes.cooperative});
}

// HIP's number is one of blocks that fill a device; the size of the block is asked for again where shared memory
// depends on it.
hipError_t best_block(int* grid, int* block, Function function, size_t (*shared_of)(int), size_t shared, int limit) {
  hipError_t status = hipModuleOccupancyMaxPotentialBlockSize(grid, block, function, shared_of ? 0 : shared, limit);
  if (status != hipSuccess || !shared_of) return status;
  return hipModuleOccupancyMaxPotentialBlockSize(grid, block, function, shared_of(*block), limit);
}

}  // namespace
}  // namespace mneme::hostgpu::cuda::driver

using namespace mneme::hostgpu::cuda::driver;
using mneme::hostgpu::cuda::own_stream;
using mneme::hostgpu::cuda::stream_of;

extern "C" {

Result cuLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                      unsigned block_y, unsigned block_z, unsigned shared, hipStream_t stream, void** arguments,
                      void** extra) {
  return launch(
      {function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, stream_of(stream), arguments, extra});
}
Result cuLaunchKernel_ptsz(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                           unsigned block_y, unsigned block_z, unsigned shared, hipStream_t stream, void** arguments,
                           void** extra) {
  return launch(
      {function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, own_stream(stream), arguments, extra});
}
Result cuLaunchCooperativeKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                 unsigned block_y, unsigned block_z, unsigned shared, hipStream_t stream,
                                 void** arguments) {
  return launch({function,
                 {grid_x, grid_y, grid_z},
                 {block_x, block_y, block_z},
                 shared,
                 stream_of(stream),
                 arguments,
                 nullptr,
                 true});
}
Result cuLaunchCooperativeKernel_ptsz(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                      hipStream_t stream, void** arguments) {
  return launch({function,
                 {grid_x, grid_y, grid_z},
                 {block_x, block_y, block_z},
                 shared,
                 own_stream(stream),
                 arguments,
                 nullptr,
                 true});
}
Result cuLaunchKernelEx(const DriverLaunchConfig* config, Function function, void** arguments, void** extra) {
  return launch(config, function, arguments, extra, stream_of);
}
Result cuLaunchKernelEx_ptsz(const DriverLaunchConfig* config, Function function, void** arguments, void** extra) {
  return launch(config, function, arguments, extra, own_stream);
}

Result cuOccupancyMaxPotentialBlockSize(int* grid, int* block, Function function, size_t (*shared_of)(int),
                                        size_t shared, int limit) {
  return forward<best_block>(grid, block, function, shared_of, shared, limit);
}
Result cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, Function function, size_t (*shared_of)(int),
                                                 size_t shared, int limit, unsigned) {
  return forward<best_block>(grid, block, function, shared_of, shared, limit);
}

}  // extern "C"
