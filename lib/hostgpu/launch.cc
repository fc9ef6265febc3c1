// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernel launches: they run to their end on the calling thread (and the cores that help it) before they return.
#include <cstring>
#include <vector>

#include "hostgpu/errors.h"
#include "hostgpu/registration.h"
#include "hostgpu/streams.h"

// Declared in <hip/hip_ext.h>, which is for device code too.
extern "C" hipError_t hipExtLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                                         hipStream_t stream, hipEvent_t start, hipEvent_t stop, int flags);

namespace mneme::hostgpu {
namespace {

struct CallConfiguration {
  dim3 grid, block;
  size_t shared;
  hipStream_t stream;
};
thread_local std::vector<CallConfiguration> call_configurations;

std::vector<std::byte> argument_bytes(const bundle::KernelInfo& kernel, void** values) {
  std::vector<std::byte> bytes(kernel.argument_bytes);
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const bundle::Argument& argument = kernel.arguments[i];
    require(values && values[i]);
    bool fits = argument.offset <= bytes.size() && argument.size <= bytes.size() - argument.offset;
    require(fits, hipErrorInvalidKernelFile);
    std::byte* to = bytes.data() + argument.offset;
    std::memcpy(to, values[i], argument.size);
    for (const bundle::ByteRange& gap : argument.padding) {
      require(gap.offset <= argument.size && gap.size <= argument.size - gap.offset, hipErrorInvalidKernelFile);
      std::memset(to + gap.offset, 0, gap.size);
    }
  }
  return bytes;
}

bundle::Dim3 dimensions(const dim3& d) { return {d.x, d.y, d.z}; }

void launch(const void* function, const dim3& grid, const dim3& block, void** values, size_t shared) {
  require(shared <= UINT32_MAX);
  Kernel& kernel = ready_kernel(function);
  try {
    device::host::check_launch(*kernel.code(), dimensions(grid), dimensions(block), static_cast<uint32_t>(shared));
  } catch (const Error& error) {
    throw HipError(hipErrorInvalidConfiguration, error.what());
  }
  std::vector<std::byte> arguments = argument_bytes(kernel.info(), values);
  try {
    device::host::run_grid(*kernel.code(), dimensions(grid), dimensions(block), static_cast<uint32_t>(shared),
                           arguments);
  } catch (const Error& error) {
    break_device(hipErrorLaunchFailure);
    throw HipError(hipErrorLaunchFailure, error.what());
  }
}

hipError_t launch_on(hipStream_t stream, const void* function, const dim3& grid, const dim3& block, void** values,
                     size_t shared) {
  if (hipError_t bad = check_stream(stream); bad != hipSuccess) return bad;
  return answer_on_device([&] { launch(function, grid, block, values, shared); });
}

}  // namespace
}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared, hipStream_t stream) {
  return answer([&] { call_configurations.push_back({grid, block, shared, stream}); });
}

hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, hipStream_t* stream) {
  return answer([&] {
    require(!call_configurations.empty(), hipErrorMissingConfiguration);
    const CallConfiguration& top = call_configurations.back();
    *grid = top.grid;
    *block = top.block;
    *shared = top.shared;
    *stream = top.stream;
    call_configurations.pop_back();
  });
}

hipError_t hipLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                           hipStream_t stream) {
  return launch_on(stream, function, grid, block, arguments, shared);
}

hipError_t hipLaunchKernel_spt(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                               hipStream_t stream) {
  return launch_on(stream, function, grid, block, arguments, shared);
}

hipError_t hipExtLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                              hipStream_t stream, hipEvent_t start, hipEvent_t stop, int) {
  if (hipError_t bad = check_stream(stream); bad != hipSuccess) return bad;
  return answer_on_device([&] {
    if (start) record_event(start);
    launch(function, grid, block, arguments, shared);
    if (stop) record_event(stop);
  });
}

// A kernel that synchronises its whole grid is refused when it is compiled; others do not need all blocks at once.
hipError_t hipLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments, unsigned shared,
                                      hipStream_t stream) {
  return launch_on(stream, function, grid, block, arguments, shared);
}

hipError_t hipLaunchCooperativeKernel_spt(const void* function, dim3 grid, dim3 block, void** arguments,
                                          uint32_t shared, hipStream_t stream) {
  return launch_on(stream, function, grid, block, arguments, shared);
}

}  // extern "C"
