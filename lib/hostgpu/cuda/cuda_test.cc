// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What cuda.h declares, and what is taken to be the same in HIP, is what the toolkit's headers say.
#include "hostgpu/cuda/cuda.h"

#include <gtest/gtest.h>

#include "hostgpu/cuda/layout.h"
#include "hostgpu/extensions.h"

namespace mneme::hostgpu::cuda {
namespace {

#define SIZE(type) {#type, sizeof(type)}
#define PLACE(type, member) {#type "." #member, offsetof(type, member)}
#define VALUE(name) {#name, static_cast<size_t>(name)}

Layout our_layout() {
  return {
      SIZE(FunctionAttributes),
      PLACE(FunctionAttributes, max_dynamic_shared),
      SIZE(FillParameters),
      PLACE(FillParameters, width),
      SIZE(PoolProperties),
      PLACE(PoolProperties, location),
      SIZE(UpdateResult),
      PLACE(UpdateResult, node),
      {"Box", sizeof(hipMemcpy3DParms)},
      {"Box.kind", offsetof(hipMemcpy3DParms, kind)},
      {"PitchedPointer", sizeof(hipPitchedPtr)},
      {"HostNodeParameters", sizeof(hipHostNodeParams)},
      {"MemoryLocation", sizeof(hipMemLocation)},
      {"MemoryAccess", sizeof(hipMemAccessDesc)},
      SIZE(DeviceProperties),
      PLACE(DeviceProperties, warp_size),
      PLACE(DeviceProperties, major),
      PLACE(DeviceProperties, multiprocessors),
      PLACE(DeviceProperties, surface_alignment),
      PLACE(DeviceProperties, shared_per_multiprocessor),
      PLACE(DeviceProperties, cooperative_launch),
      PLACE(DeviceProperties, memory_pools),
      PLACE(DeviceProperties, cluster_launch),
      VALUE(kUnregistered),
      VALUE(kHost),
      VALUE(kDevice),
      VALUE(kManaged),
      VALUE(kStreamWindow),
      VALUE(kStreamSynchronization),
      VALUE(kStreamPriority),
      VALUE(kStreamDomains),
      VALUE(kStreamDomain),
      SIZE(AccessWindow),
      PLACE(AccessWindow, miss),
      VALUE(hipHostRegisterMapped),
      VALUE(hipHostMallocMapped),
      VALUE(hipStreamNonBlocking),
      VALUE(hipEventDisableTiming),
      VALUE(hipMemAttachGlobal),
      VALUE(hipMemcpyDefault),
      VALUE(hipFuncAttributeMaxDynamicSharedMemorySize),
      VALUE(hipLimitMallocHeapSize),
      VALUE(hipMemAdviseUnsetAccessedBy),
      VALUE(hipStreamCaptureModeRelaxed),
      VALUE(hipErrorInvalidValue),
      VALUE(hipErrorOutOfMemory),
      VALUE(hipErrorInvalidConfiguration),
      VALUE(hipErrorInvalidSymbol),
      VALUE(hipErrorInvalidDeviceFunction),
      VALUE(hipErrorInvalidDevice),
      VALUE(hipErrorInvalidHandle),
      VALUE(hipErrorNotReady),
      VALUE(hipErrorIllegalAddress),
      VALUE(hipErrorAssert),
      VALUE(hipErrorLaunchFailure),
      VALUE(hipErrorCooperativeLaunchTooLarge),
      VALUE(hipErrorNotSupported),
      VALUE(hipErrorStreamCaptureUnsupported),
      VALUE(hipErrorUnknown),
  };
}

TEST(CudaInterface, IsTheToolkits) {
  Layout toolkits = toolkit_layout();
  if (toolkits.empty()) GTEST_SKIP() << "there is no CUDA toolkit to compare with";
  EXPECT_EQ(our_layout(), toolkits);
}

}  // namespace
}  // namespace mneme::hostgpu::cuda
