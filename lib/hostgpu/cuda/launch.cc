// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>

#include "hostgpu/cuda/cuda.h"
#include "hostgpu/cuda/launch_wishes.h"
#include "hostgpu/extensions.h"

namespace mneme::hostgpu::cuda {
namespace {

Error launch(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared, hipStream_t stream,
             bool cooperative = false) {
  stream = stream_of(stream);
  return error(cooperative
                   ? hipLaunchCooperativeKernel(function, grid, block, arguments, static_cast<unsigned>(shared), stream)
                   : hipLaunchKernel(function, grid, block, arguments, shared, stream));
}

}  // namespace
}  // namespace mneme::hostgpu::cuda

using namespace mneme::hostgpu::cuda;

extern "C" {

Error cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                                  hipStream_t stream) {
  return launch(function, grid, block, arguments, shared, stream, true);
}

Error cudaLaunchKernelExC(const LaunchConfig* config, const void* function, void** arguments) {
  if (!config) return kInvalidValue;
  Wishes wishes = wishes_of(config->attributes, config->count);
  if (wishes.clusters) return mneme_hostgpu_refuse("cudaLaunchKernelExC", kNoClusters);
  return launch(function, as_hip(config->grid), as_hip(config->block), arguments, config->shared,
                as_hip(config->stream), wishes.cooperative);
}

// A kernel's handle is the host function that stands for it.
Error __cudaGetKernel(const void** kernel, const void* function) {
  *kernel = function;
  return 0;
}
Error cudaGetKernel(const void** kernel, const void* function) { return __cudaGetKernel(kernel, function); }
Error cudaGetFuncBySymbol(const void** kernel, const void* function) { return __cudaGetKernel(kernel, function); }

Error cudaFuncGetAttributes(FunctionAttributes* attributes, const void* function) {
  hipFuncAttributes hips{};
  hipError_t status = hipFuncGetAttributes(attributes ? &hips : nullptr, function);
  if (status != hipSuccess) return error(status);
  *attributes = {};
  attributes->shared_bytes = hips.sharedSizeBytes;
  attributes->const_bytes = hips.constSizeBytes;
  attributes->local_bytes = hips.localSizeBytes;
  attributes->max_threads = hips.maxThreadsPerBlock;
  attributes->registers = hips.numRegs;
  attributes->ptx_version = hips.ptxVersion;
  attributes->binary_version = hips.binaryVersion;
  attributes->max_dynamic_shared = hips.maxDynamicSharedSizeBytes;
  attributes->shared_carveout = hips.preferredShmemCarveout;
  return 0;
}

Error cudaFuncGetName(const char** name, const void* function) {
  if (!name) return kInvalidValue;
  if (!function) return error(hipErrorInvalidDeviceFunction);
  const char* found = hipKernelNameRefByPtr(function, nullptr);
  if (!found) return error(hipErrorInvalidHandle);
  *name = found;
  return 0;
}

Error cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset, size_t* size) {
  return offset ? mneme_hostgpu_parameter(function, index, offset, size) : kInvalidValue;
}

// As much as lets so many blocks be on one multiprocessor at a time.
Error cudaOccupancyAvailableDynamicSMemPerBlock(size_t* size, const void* function, int blocks, int threads) {
  if (!size || blocks <= 0 || threads <= 0) return kInvalidValue;
  hipFuncAttributes kernel{};
  int resident = 0, device = 0, all = 0, reserved = 0;
  for (hipError_t status :
       {hipFuncGetAttributes(&kernel, function),
        hipOccupancyMaxActiveBlocksPerMultiprocessor(&resident, function, threads, 0), hipGetDevice(&device),
        hipDeviceGetAttribute(&all, hipDeviceAttributeMaxSharedMemoryPerMultiprocessor, device),
        hipDeviceGetAttribute(&reserved, hipDeviceAttributeReservedSharedMemPerBlock, device)}) {
    if (status != hipSuccess) return error(status);
  }
  if (blocks > resident) return kInvalidValue;
  constexpr int kUnit = 128;
  int room = all / blocks / kUnit * kUnit - reserved - static_cast<int>(kernel.sharedSizeBytes);
  *size = static_cast<size_t>(std::clamp(room, 0, kernel.maxDynamicSharedSizeBytes));
  return 0;
}
Error cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads, size_t shared) {
  return error(hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared));
}
Error cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function, int threads,
                                                             size_t shared, unsigned flags) {
  return error(hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, flags));
}

}  // extern "C"
