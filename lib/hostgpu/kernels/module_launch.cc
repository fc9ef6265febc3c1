// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches of what hipModuleGetFunction gave. A function of a module is registered under its own address, so that
// these are launches like all others once their arguments are listed one by one.
#include "hostgpu/errors.h"
#include "hostgpu/kernels/arguments.h"
#include "hostgpu/kernels/registration.h"

#pragma GCC visibility push(default)
// Declared in <hip/hip_ext.h>, which is for device code too.
extern "C" hipError_t hipExtLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                                         hipStream_t stream, hipEvent_t start, hipEvent_t stop, int flags);
hipError_t hipExtModuleLaunchKernel(hipFunction_t function, uint32_t x, uint32_t y, uint32_t z, uint32_t block_x,
                                    uint32_t block_y, uint32_t block_z, size_t shared, hipStream_t stream,
                                    void** arguments, void** extra, hipEvent_t start, hipEvent_t stop, uint32_t flags);
hipError_t hipHccModuleLaunchKernel(hipFunction_t function, uint32_t x, uint32_t y, uint32_t z, uint32_t block_x,
                                    uint32_t block_y, uint32_t block_z, size_t shared, hipStream_t stream,
                                    void** arguments, void** extra, hipEvent_t start, hipEvent_t stop);
#pragma GCC visibility pop

namespace mneme::hostgpu {
namespace {

std::vector<void*> list_of(hipFunction_t function, void** arguments, void** extra) {
  return argument_list(ready_kernel(function).info(), arguments_of(arguments, extra));
}

// Sizes in work-items, which hipExtModuleLaunchKernel takes, as blocks.
uint32_t blocks(uint32_t size, uint32_t block) {
  require(block && size % block == 0, hipErrorInvalidConfiguration);
  return size / block;
}

}  // namespace

objects::LaunchArguments arguments_of(void** arguments, void** extra) {
  require(!(arguments && extra));
  return objects::arguments_of(arguments, extra, reinterpret_cast<uintptr_t>(HIP_LAUNCH_PARAM_END));
}

std::vector<void*> argument_list(const bundle::KernelInfo& kernel, const objects::LaunchArguments& arguments) {
  std::optional<std::vector<void*>> list = objects::argument_list(kernel.arguments, arguments);
  require(list.has_value());
  return *std::move(list);
}

}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                            unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                            hipStream_t stream, void** arguments, void** extra) {
  std::vector<void*> list;
  hipError_t listed = answer_on_device([&] {
    require(function, hipErrorInvalidHandle);
    list = list_of(function, arguments, extra);
  });
  if (listed != hipSuccess) return listed;
  return hipLaunchKernel(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, list.data(), shared, stream);
}

hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                            unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                            hipStream_t stream, void** arguments) {
  hipError_t found = answer_on_device([&] { require(function, hipErrorInvalidHandle); });
  if (found != hipSuccess) return found;
  return hipLaunchCooperativeKernel(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, arguments, shared,
                                    stream);
}

hipError_t hipExtModuleLaunchKernel(hipFunction_t function, uint32_t x, uint32_t y, uint32_t z, uint32_t block_x,
                                    uint32_t block_y, uint32_t block_z, size_t shared, hipStream_t stream,
                                    void** arguments, void** extra, hipEvent_t start, hipEvent_t stop, uint32_t flags) {
  std::vector<void*> list;
  dim3 grid;
  hipError_t listed = answer_on_device([&] {
    require(function, hipErrorInvalidHandle);
    grid = {blocks(x, block_x), blocks(y, block_y), blocks(z, block_z)};
    list = list_of(function, arguments, extra);
  });
  if (listed != hipSuccess) return listed;
  return hipExtLaunchKernel(function, grid, {block_x, block_y, block_z}, list.data(), shared, stream, start, stop,
                            static_cast<int>(flags));
}

hipError_t hipHccModuleLaunchKernel(hipFunction_t function, uint32_t x, uint32_t y, uint32_t z, uint32_t block_x,
                                    uint32_t block_y, uint32_t block_z, size_t shared, hipStream_t stream,
                                    void** arguments, void** extra, hipEvent_t start, hipEvent_t stop) {
  return hipExtModuleLaunchKernel(function, x, y, z, block_x, block_y, block_z, shared, stream, arguments, extra, start,
                                  stop, 0);
}
