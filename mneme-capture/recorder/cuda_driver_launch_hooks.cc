// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of CUDA's driver that launch kernels, as the application finds them first.
#include "recorder/cuda_handles.h"
#include "recorder/cuda_launch.h"

namespace mneme::record::cuda {
namespace {

using Launch = Result(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**,
                      void**);
using LaunchTogether = Result(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream,
                              void**);
using LaunchEx = Result(const DriverLaunchConfig*, Function, void**, void**);

constinit Next<Launch> next_launch(kDriver, "cuLaunchKernel");
constinit Next<Launch> next_launch_ptsz(kDriver, "cuLaunchKernel_ptsz");
constinit Next<LaunchTogether> next_cooperative(kDriver, "cuLaunchCooperativeKernel");
constinit Next<LaunchTogether> next_cooperative_ptsz(kDriver, "cuLaunchCooperativeKernel_ptsz");
constinit Next<LaunchEx> next_launch_ex(kDriver, "cuLaunchKernelEx");
constinit Next<LaunchEx> next_launch_ex_ptsz(kDriver, "cuLaunchKernelEx_ptsz");

LaunchRequest request_of(Function function, Dimensions grid, Dimensions block, unsigned shared, Stream stream,
                         void** arguments, void** extra) {
  constexpr uintptr_t kEnd = 0;  // CU_LAUNCH_PARAM_END
  LaunchRequest request = cuda::request_of(function_of(function), grid, block, nullptr, shared, stream);
  request.arguments = arguments_of(arguments, extra, kEnd);
  return request;
}

Result launch_with(const DriverLaunchConfig* config, Function function, void** arguments, void** extra, bool of_thread,
                   const Next<LaunchEx>& next) {
  auto real = [&] { return next.call_or(kNotSupported, config, function, arguments, extra); };
  if (!config) return real();
  Stream stream = of_thread ? per_thread(config->stream) : config->stream;
  LaunchRequest request = request_of(function, config->grid, config->block, config->shared, stream, arguments, extra);
  add_attributes(request, config->attributes, config->count);
  return launch(request, real);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

Result cuLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                      unsigned block_y, unsigned block_z, unsigned shared, Stream stream, void** arguments,
                      void** extra) {
  Dimensions grid{grid_x, grid_y, grid_z}, block{block_x, block_y, block_z};
  return launch(request_of(function, grid, block, shared, stream, arguments, extra), [&] {
    return next_launch.call_or(kNotSupported, function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared,
                               stream, arguments, extra);
  });
}

Result cuLaunchKernel_ptsz(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                           unsigned block_y, unsigned block_z, unsigned shared, Stream stream, void** arguments,
                           void** extra) {
  Dimensions grid{grid_x, grid_y, grid_z}, block{block_x, block_y, block_z};
  return launch(request_of(function, grid, block, shared, per_thread(stream), arguments, extra), [&] {
    return next_launch_ptsz.call_or(kNotSupported, function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared,
                                    stream, arguments, extra);
  });
}

Result cuLaunchCooperativeKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                 unsigned block_y, unsigned block_z, unsigned shared, Stream stream, void** arguments) {
  Dimensions grid{grid_x, grid_y, grid_z}, block{block_x, block_y, block_z};
  LaunchRequest request = request_of(function, grid, block, shared, stream, arguments, nullptr);
  request.cooperative = true;
  return launch(request, [&] {
    return next_cooperative.call_or(kNotSupported, function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared,
                                    stream, arguments);
  });
}

Result cuLaunchCooperativeKernel_ptsz(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                      Stream stream, void** arguments) {
  Dimensions grid{grid_x, grid_y, grid_z}, block{block_x, block_y, block_z};
  LaunchRequest request = request_of(function, grid, block, shared, per_thread(stream), arguments, nullptr);
  request.cooperative = true;
  return launch(request, [&] {
    return next_cooperative_ptsz.call_or(kNotSupported, function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                         shared, stream, arguments);
  });
}

Result cuLaunchKernelEx(const DriverLaunchConfig* config, Function function, void** arguments, void** extra) {
  return launch_with(config, function, arguments, extra, false, next_launch_ex);
}

Result cuLaunchKernelEx_ptsz(const DriverLaunchConfig* config, Function function, void** arguments, void** extra) {
  return launch_with(config, function, arguments, extra, true, next_launch_ex_ptsz);
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::cuda
