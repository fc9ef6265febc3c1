// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Apart from cuda_test.cc, since HIP's headers and CUDA's cannot be in one translation unit.
#include "hostgpu/cuda/layout.h"

#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace mneme::hostgpu::cuda {

Layout toolkit_layout() {
#if defined(CUDART_VERSION) && CUDART_VERSION >= 13000
  return {
      {"FunctionAttributes", sizeof(cudaFuncAttributes)},
      {"FunctionAttributes.max_dynamic_shared", offsetof(cudaFuncAttributes, maxDynamicSharedSizeBytes)},
      {"FillParameters", sizeof(cudaMemsetParams)},
      {"FillParameters.width", offsetof(cudaMemsetParams, width)},
      {"PoolProperties", sizeof(cudaMemPoolProps)},
      {"PoolProperties.location", offsetof(cudaMemPoolProps, location)},
      {"UpdateResult", sizeof(cudaGraphExecUpdateResultInfo)},
      {"UpdateResult.node", offsetof(cudaGraphExecUpdateResultInfo, errorNode)},
      {"Box", sizeof(cudaMemcpy3DParms)},
      {"Box.kind", offsetof(cudaMemcpy3DParms, kind)},
      {"PitchedPointer", sizeof(cudaPitchedPtr)},
      {"HostNodeParameters", sizeof(cudaHostNodeParams)},
      {"MemoryLocation", sizeof(cudaMemLocation)},
      {"MemoryAccess", sizeof(cudaMemAccessDesc)},
      {"DeviceProperties", sizeof(cudaDeviceProp)},
      {"DeviceProperties.warp_size", offsetof(cudaDeviceProp, warpSize)},
      {"DeviceProperties.major", offsetof(cudaDeviceProp, major)},
      {"DeviceProperties.multiprocessors", offsetof(cudaDeviceProp, multiProcessorCount)},
      {"DeviceProperties.surface_alignment", offsetof(cudaDeviceProp, surfaceAlignment)},
      {"DeviceProperties.shared_per_multiprocessor", offsetof(cudaDeviceProp, sharedMemPerMultiprocessor)},
      {"DeviceProperties.cooperative_launch", offsetof(cudaDeviceProp, cooperativeLaunch)},
      {"DeviceProperties.memory_pools", offsetof(cudaDeviceProp, memoryPoolsSupported)},
      {"DeviceProperties.cluster_launch", offsetof(cudaDeviceProp, clusterLaunch)},
      {"kUnregistered", cudaMemoryTypeUnregistered},
      {"kHost", cudaMemoryTypeHost},
      {"kDevice", cudaMemoryTypeDevice},
      {"kManaged", cudaMemoryTypeManaged},
      {"kStreamWindow", cudaStreamAttributeAccessPolicyWindow},
      {"kStreamSynchronization", cudaStreamAttributeSynchronizationPolicy},
      {"kStreamPriority", cudaStreamAttributePriority},
      {"kStreamDomains", cudaStreamAttributeMemSyncDomainMap},
      {"kStreamDomain", cudaStreamAttributeMemSyncDomain},
      {"AccessWindow", sizeof(cudaAccessPolicyWindow)},
      {"AccessWindow.miss", offsetof(cudaAccessPolicyWindow, missProp)},
      {"hipHostRegisterMapped", cudaHostRegisterMapped},
      {"hipHostMallocMapped", cudaHostAllocMapped},
      {"hipStreamNonBlocking", cudaStreamNonBlocking},
      {"hipEventDisableTiming", cudaEventDisableTiming},
      {"hipMemAttachGlobal", cudaMemAttachGlobal},
      {"hipMemcpyDefault", cudaMemcpyDefault},
      {"hipFuncAttributeMaxDynamicSharedMemorySize", cudaFuncAttributeMaxDynamicSharedMemorySize},
      {"hipLimitMallocHeapSize", cudaLimitMallocHeapSize},
      {"hipMemAdviseUnsetAccessedBy", cudaMemAdviseUnsetAccessedBy},
      {"hipStreamCaptureModeRelaxed", cudaStreamCaptureModeRelaxed},
      {"hipErrorInvalidValue", cudaErrorInvalidValue},
      {"hipErrorOutOfMemory", cudaErrorMemoryAllocation},
      {"hipErrorInvalidConfiguration", cudaErrorInvalidConfiguration},
      {"hipErrorInvalidSymbol", cudaErrorInvalidSymbol},
      {"hipErrorInvalidDeviceFunction", cudaErrorInvalidDeviceFunction},
      {"hipErrorInvalidDevice", cudaErrorInvalidDevice},
      {"hipErrorInvalidHandle", cudaErrorInvalidResourceHandle},
      {"hipErrorNotReady", cudaErrorNotReady},
      {"hipErrorIllegalAddress", cudaErrorIllegalAddress},
      {"hipErrorAssert", cudaErrorAssert},
      {"hipErrorLaunchFailure", cudaErrorLaunchFailure},
      {"hipErrorCooperativeLaunchTooLarge", cudaErrorCooperativeLaunchTooLarge},
      {"hipErrorNotSupported", cudaErrorNotSupported},
      {"hipErrorStreamCaptureUnsupported", cudaErrorStreamCaptureUnsupported},
      {"hipErrorUnknown", cudaErrorUnknown},
  };
#else
  return {};
#endif
}

}  // namespace mneme::hostgpu::cuda
