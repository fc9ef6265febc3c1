// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches in other words: step by step, on several devices, and as programs built for older versions make them.
#include <optional>
#include <vector>

#include "hostgpu/errors.h"
#include "hostgpu/kernels/arguments.h"
#include "hostgpu/kernels/registration.h"

#pragma GCC visibility push(default)
namespace hip_impl {
void hipLaunchKernelGGLImpl(uintptr_t function, const dim3& grid, const dim3& block, uint32_t shared,
                            hipStream_t stream, void** extra);
}
#pragma GCC visibility pop

namespace mneme::hostgpu {
namespace {

struct StepwiseLaunch {
  dim3 grid, block;
  size_t shared = 0;
  hipStream_t stream = nullptr;
  std::vector<std::byte> arguments;
};
thread_local std::vector<StepwiseLaunch> stepwise;

constexpr size_t kMostArgumentBytes = 4096;  // of any kernel

// One launch a device, in a stream of that device.
template <typename Launch>
hipError_t launch_on_devices(const hipLaunchParams* launches, int count, const Launch& launch) {
  hipError_t good = answer([&] {
    require(launches && count > 0);
    require(count <= device_count(), hipErrorInvalidDevice);
    for (int i = 0; i < count; ++i) require(launches[i].func, hipErrorInvalidDeviceFunction);
  });
  for (int i = 0; good == hipSuccess && i < count; ++i) good = launch(launches[i]);
  return good;
}

}  // namespace
}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

hipError_t hipConfigureCall(dim3 grid, dim3 block, size_t shared, hipStream_t stream) {
  return answer([&] { stepwise.push_back({grid, block, shared, stream, {}}); });
}

hipError_t hipSetupArgument(const void* argument, size_t size, size_t offset) {
  return answer([&] {
    require(!stepwise.empty(), hipErrorMissingConfiguration);
    require(argument && offset <= kMostArgumentBytes && size <= kMostArgumentBytes - offset);
    std::vector<std::byte>& bytes = stepwise.back().arguments;
    if (bytes.size() < offset + size) bytes.resize(offset + size);
    std::copy_n(static_cast<const std::byte*>(argument), size, bytes.begin() + static_cast<ptrdiff_t>(offset));
  });
}

hipError_t hipLaunchByPtr(const void* function) {
  StepwiseLaunch launch;
  std::vector<void*> list;
  hipError_t good = answer_on_device([&] {
    require(!stepwise.empty(), hipErrorMissingConfiguration);
    launch = std::move(stepwise.back());
    stepwise.pop_back();
    list = argument_list(ready_kernel(function).info(), {nullptr, launch.arguments});
  });
  if (good != hipSuccess) return good;
  return hipLaunchKernel(function, launch.grid, launch.block, list.data(), launch.shared, launch.stream);
}

hipError_t hipExtLaunchMultiKernelMultiDevice(hipLaunchParams* launches, int count, unsigned) {
  return launch_on_devices(launches, count, [](const hipLaunchParams& p) {
    return hipLaunchKernel(p.func, p.gridDim, p.blockDim, p.args, p.sharedMem, p.stream);
  });
}

hipError_t hipLaunchCooperativeKernelMultiDevice(hipLaunchParams* launches, int count, unsigned) {
  return launch_on_devices(launches, count, [](const hipLaunchParams& p) {
    return hipLaunchCooperativeKernel(p.func, p.gridDim, p.blockDim, p.args, static_cast<unsigned>(p.sharedMem),
                                      p.stream);
  });
}

}  // extern "C"

void hip_impl::hipLaunchKernelGGLImpl(uintptr_t function, const dim3& grid, const dim3& block, uint32_t shared,
                                      hipStream_t stream, void** extra) {
  // What it answers is kept for hipGetLastError.
  static_cast<void>(hipModuleLaunchKernel(reinterpret_cast<hipFunction_t>(function), grid.x, grid.y, grid.z, block.x,
                                          block.y, block.z, shared, stream, nullptr, extra));
}
