// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a kernel needs, and how many of its blocks the pretended device would hold at a time.
#include <algorithm>

#include "hostgpu/device_info.h"
#include "hostgpu/errors.h"
#include "hostgpu/registration.h"

namespace mneme::hostgpu {
namespace {

constexpr int kUsualBlock = 256;
constexpr int kMostBlocks = 32;  // at a time on one multiprocessor

int active_blocks(const Kernel& kernel, int block, size_t dynamic) {
  require(block > 0);
  const hipDeviceProp_t& device = properties();
  if (block > device.maxThreadsPerBlock) return 0;
  uint64_t shared = kernel.code()->object().shared_static + dynamic;
  if (shared > device.sharedMemPerBlock) return 0;
  int blocks = std::min(kMostBlocks, device.maxThreadsPerMultiProcessor / block);
  if (shared) blocks = std::min(blocks, static_cast<int>(device.maxSharedMemoryPerMultiProcessor / shared));
  return blocks;
}

hipError_t answer_active_blocks(int* blocks, const void* function, int block, size_t dynamic) {
  return answer([&] {
    require(blocks);
    *blocks = active_blocks(ready_kernel(function), block, dynamic);
  });
}

}  // namespace
}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

hipError_t hipFuncGetAttributes(hipFuncAttributes* attributes, const void* function) {
  return answer([&] {
    require(attributes);
    const Kernel& kernel = ready_kernel(function);
    size_t shared = kernel.code()->object().shared_static;
    *attributes = {};
    attributes->sharedSizeBytes = shared;
    attributes->maxThreadsPerBlock = properties().maxThreadsPerBlock;
    attributes->maxDynamicSharedSizeBytes = static_cast<int>(properties().sharedMemPerBlock - shared);
    attributes->numRegs = 64;
    attributes->binaryVersion = attributes->ptxVersion = properties().major * 10 + properties().minor;
    for (const mneme::bundle::Global& global : kernel.info().globals) {
      if (global.constant) attributes->constSizeBytes += global.size;
    }
  });
}

// Hints.
hipError_t hipFuncSetAttribute(const void* function, hipFuncAttribute, int) {
  return answer([&] { registered_function(function); });
}
hipError_t hipFuncSetCacheConfig(const void*, hipFuncCache_t) { return hipSuccess; }
hipError_t hipFuncSetSharedMemConfig(const void*, hipSharedMemConfig) { return hipSuccess; }

hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int block, size_t dynamic) {
  return answer_active_blocks(blocks, function, block, dynamic);
}
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function, int block,
                                                                 size_t dynamic, unsigned) {
  return answer_active_blocks(blocks, function, block, dynamic);
}

hipError_t hipOccupancyMaxPotentialBlockSize(int* grid, int* block, const void* function, size_t dynamic, int limit) {
  return answer([&] {
    require(grid && block);
    const Kernel& kernel = ready_kernel(function);
    *block = limit > 0 ? std::min(limit, kUsualBlock) : kUsualBlock;
    *grid = active_blocks(kernel, *block, dynamic) * properties().multiProcessorCount;
  });
}

const char* hipKernelNameRefByPtr(const void* function, hipStream_t) {
  try {
    return registered_function(function).name.c_str();
  } catch (const HipError&) {
    return nullptr;
  }
}

}  // extern "C"
