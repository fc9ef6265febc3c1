// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a kernel needs, and how many of its blocks the pretended device would hold at a time.
#include "hostgpu/kernels/function_info.h"

#include <algorithm>

#include "hostgpu/device/info.h"
#include "hostgpu/errors.h"
#include "hostgpu/extensions.h"
#include "hostgpu/kernels/registration.h"

namespace mneme::hostgpu {
namespace {

constexpr int kUsualBlock = 256;
constexpr int kMostBlocks = 32;  // at a time on one multiprocessor

hipError_t answer_active_blocks(int* blocks, const void* function, int block, size_t dynamic) {
  return answer([&] {
    require(blocks);
    *blocks = active_blocks(ready_kernel(function), block, dynamic);
  });
}

hipError_t answer_best_block(int* grid, int* block, const void* function, size_t dynamic, int limit) {
  return answer([&] {
    require(grid && block && limit >= 0);
    const Kernel& kernel = ready_kernel(function);
    *block = std::min(limit > 0 ? std::min(limit, kUsualBlock) : kUsualBlock, most_threads(kernel));
    *grid = active_blocks(kernel, *block, dynamic) * properties().multiProcessorCount;
  });
}

uint64_t usual_dynamic(const Kernel& kernel) {
  uint64_t fixed = kernel.code()->object().shared_static, usual = shared_memory().usual;
  return usual - std::min(usual, fixed);
}

hipFuncAttributes attributes_of(const Kernel& kernel) {
  size_t shared = kernel.code()->object().shared_static;
  hipFuncAttributes attributes = {};
  attributes.sharedSizeBytes = shared;
  attributes.maxThreadsPerBlock = most_threads(kernel);
  attributes.maxDynamicSharedSizeBytes = static_cast<int>(most_dynamic(kernel));
  attributes.numRegs = 64;
  attributes.binaryVersion = attributes.ptxVersion = properties().major * 10 + properties().minor;
  for (const bundle::Global& global : kernel.info().globals) {
    if (global.constant) attributes.constSizeBytes += global.size;
  }
  return attributes;
}

int attribute(const hipFuncAttributes& attributes, hipFunction_attribute which) {
  switch (which) {
    case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return attributes.maxThreadsPerBlock;
    case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return static_cast<int>(attributes.sharedSizeBytes);
    case HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      return static_cast<int>(attributes.constSizeBytes);
    case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      return static_cast<int>(attributes.localSizeBytes);
    case HIP_FUNC_ATTRIBUTE_NUM_REGS:
      return attributes.numRegs;
    case HIP_FUNC_ATTRIBUTE_PTX_VERSION:
      return attributes.ptxVersion;
    case HIP_FUNC_ATTRIBUTE_BINARY_VERSION:
      return attributes.binaryVersion;
    case HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA:
      return attributes.cacheModeCA;
    case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return attributes.maxDynamicSharedSizeBytes;
    case HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return attributes.preferredShmemCarveout;
    default:
      throw HipError(hipErrorInvalidValue);
  }
}

}  // namespace

int most_threads(const Kernel& kernel) {
  return std::min(properties().maxThreadsPerBlock, static_cast<int>(kernel.code()->object().most_threads));
}

uint64_t most_dynamic(const Kernel& kernel) {
  int allowed = kernel.allowed_shared;
  return allowed < 0 ? usual_dynamic(kernel) : static_cast<uint64_t>(allowed);
}

int active_blocks(const Kernel& kernel, int block, size_t dynamic) {
  require(block > 0);
  const hipDeviceProp_t& device = properties();
  if (block > most_threads(kernel)) return 0;
  // A GPU's answer is no other where less was allowed than usual.
  if (dynamic > std::max(most_dynamic(kernel), usual_dynamic(kernel))) return 0;
  uint64_t shared = kernel.code()->object().shared_static + dynamic + shared_memory().reserved;
  int blocks = std::min(kMostBlocks, device.maxThreadsPerMultiProcessor / block);
  if (shared) blocks = std::min(blocks, static_cast<int>(shared_memory().multiprocessor / shared));
  if (!(kernel.code()->object().waits & codegen::host::kWaitAtGrid)) return blocks;
  // What such a grid can have in truth.
  uint64_t most = device::host::most_resident_blocks(*kernel.code(), {static_cast<uint32_t>(block), 1, 1});
  return static_cast<int>(std::min<uint64_t>(blocks, most / static_cast<uint64_t>(device.multiProcessorCount)));
}

uint64_t most_cooperative_blocks(const Kernel& kernel, int block, size_t dynamic) {
  return static_cast<uint64_t>(active_blocks(kernel, block, dynamic)) *
         static_cast<uint64_t>(properties().multiProcessorCount);
}

}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

hipError_t hipFuncGetAttributes(hipFuncAttributes* attributes, const void* function) {
  return answer([&] {
    require(attributes);
    *attributes = attributes_of(ready_kernel(function));
  });
}

hipError_t hipFuncGetAttribute(int* value, hipFunction_attribute which, hipFunction_t function) {
  return answer([&] {
    require(value);
    require(function, hipErrorInvalidDeviceFunction);
    *value = attribute(attributes_of(ready_kernel(function)), which);
  });
}

// But for the shared memory of NVIDIA's kernels, hints.
hipError_t hipFuncSetAttribute(const void* function, hipFuncAttribute which, int value) {
  return answer([&] {
    registered_function(function);
    require(which == hipFuncAttributeMaxDynamicSharedMemorySize ||
            which == hipFuncAttributePreferredSharedMemoryCarveout);
    require(value >= -1);
    if (which != hipFuncAttributeMaxDynamicSharedMemorySize) return;
    // More than any launch may have is an error at once, as it would be of the launch.
    const mneme::codegen::SharedMemory& there = shared_memory();
    require(static_cast<uint64_t>(std::max(value, 0)) <= there.most);
    if (there.usual == there.most) return;
    Kernel& kernel = ready_kernel(function);
    require(value >= 0 && static_cast<uint64_t>(value) + kernel.code()->object().shared_static <= there.most);
    kernel.allowed_shared = value;
  });
}
hipError_t hipFuncSetCacheConfig(const void* function, hipFuncCache_t) {
  return answer([&] { require(function, hipErrorInvalidDeviceFunction); });
}
hipError_t hipFuncSetSharedMemConfig(const void* function, hipSharedMemConfig) {
  return answer([&] { require(function, hipErrorInvalidDeviceFunction); });
}

hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int block, size_t dynamic) {
  return answer_active_blocks(blocks, function, block, dynamic);
}
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function, int block,
                                                                 size_t dynamic, unsigned) {
  return answer_active_blocks(blocks, function, block, dynamic);
}

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, hipFunction_t function, int block,
                                                              size_t dynamic) {
  return answer_active_blocks(blocks, function, block, dynamic);
}
hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, hipFunction_t function, int block,
                                                                       size_t dynamic, unsigned) {
  return answer_active_blocks(blocks, function, block, dynamic);
}

hipError_t hipOccupancyMaxPotentialBlockSize(int* grid, int* block, const void* function, size_t dynamic, int limit) {
  return answer_best_block(grid, block, function, dynamic, limit);
}
hipError_t hipModuleOccupancyMaxPotentialBlockSize(int* grid, int* block, hipFunction_t function, size_t dynamic,
                                                   int limit) {
  return answer_best_block(grid, block, function, dynamic, limit);
}
hipError_t hipModuleOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, hipFunction_t function,
                                                            size_t dynamic, int limit, unsigned) {
  return answer_best_block(grid, block, function, dynamic, limit);
}

__attribute__((visibility("default"))) int mneme_hostgpu_parameter(const void* function, size_t index, size_t* offset,
                                                                   size_t* size) {
  return answer([&] {
    const std::vector<mneme::bundle::Argument>& arguments = found_kernel(function).info().arguments;
    require(index < arguments.size());
    if (offset) *offset = arguments[index].offset;
    if (size) *size = arguments[index].size;
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
