// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What api.h declares is what a toolkit's headers say, where there is one.
#include "vendor/cuda/api.h"

#include <gtest/gtest.h>

#if __has_include(<cuda_runtime_api.h>) && __has_include(<cuda.h>)
#include <cuda.h>
#include <cuda_runtime_api.h>

namespace mneme::vendor::cuda {

static_assert(kNotReady == cudaErrorNotReady && kNotSupported == cudaErrorNotSupported);
static_assert(sizeof(Dimensions) == sizeof(dim3));
static_assert(sizeof(PitchedPointer) == sizeof(cudaPitchedPtr));
static_assert(offsetof(PitchedPointer, pitch) == offsetof(cudaPitchedPtr, pitch));
static_assert(sizeof(Extent) == sizeof(cudaExtent) && offsetof(Extent, depth) == offsetof(cudaExtent, depth));
static_assert(sizeof(LaunchAttribute) == sizeof(cudaLaunchAttribute));
static_assert(offsetof(LaunchAttribute, value) == offsetof(cudaLaunchAttribute, val));
static_assert(kLaunchCooperative == cudaLaunchAttributeCooperative);
static_assert(kLaunchClusterDimension == cudaLaunchAttributeClusterDimension);
static_assert(sizeof(LaunchConfig) == sizeof(cudaLaunchConfig_t));
static_assert(offsetof(LaunchConfig, stream) == offsetof(cudaLaunchConfig_t, stream));
static_assert(offsetof(LaunchConfig, attributes) == offsetof(cudaLaunchConfig_t, attrs));
static_assert(offsetof(PointerAttributes, type) == offsetof(cudaPointerAttributes, type));
static_assert(offsetof(PointerAttributes, host_pointer) == offsetof(cudaPointerAttributes, hostPointer));
static_assert(CUDART_VERSION < 13000 || sizeof(PointerAttributes) == sizeof(cudaPointerAttributes));
static_assert(sizeof(KernelNode) == sizeof(cudaKernelNodeParams));
static_assert(offsetof(KernelNode, shared) == offsetof(cudaKernelNodeParams, sharedMemBytes));
static_assert(offsetof(KernelNode, arguments) == offsetof(cudaKernelNodeParams, kernelParams));
static_assert(sizeof(NodeParameters) >= sizeof(cudaMemcpy3DParms) &&
              sizeof(NodeParameters) >= sizeof(cudaMemsetParams));
static_assert(sizeof(NodeParameters) >= sizeof(cudaHostNodeParams));
static_assert(kKernelNode == CU_GRAPH_NODE_TYPE_KERNEL && kCopyNode == CU_GRAPH_NODE_TYPE_MEMCPY);
static_assert(kFillNode == CU_GRAPH_NODE_TYPE_MEMSET && kHostNode == CU_GRAPH_NODE_TYPE_HOST);
static_assert(kWaitNode == CU_GRAPH_NODE_TYPE_WAIT_EVENT && kRecordNode == CU_GRAPH_NODE_TYPE_EVENT_RECORD);
static_assert(sizeof(DriverKernelNode) == sizeof(CUDA_KERNEL_NODE_PARAMS));
static_assert(offsetof(DriverKernelNode, shared) == offsetof(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes));
static_assert(offsetof(DriverKernelNode, arguments) == offsetof(CUDA_KERNEL_NODE_PARAMS, kernelParams));
static_assert(offsetof(DriverKernelNode, kernel) == offsetof(CUDA_KERNEL_NODE_PARAMS, kern));
static_assert(sizeof(EdgeData) == sizeof(CUgraphEdgeData));
static_assert(kLaunchDeviceUpdatable == cudaLaunchAttributeDeviceUpdatableKernelNode);
static_assert(kManagedMemory == cudaMemoryTypeManaged);
static_assert(sizeof(FunctionAttributes) >= sizeof(cudaFuncAttributes));
static_assert(kRegisterPortable == cudaHostRegisterPortable && kRegisterMapped == cudaHostRegisterMapped);
static_assert(kHostToDevice == cudaMemcpyHostToDevice && kDeviceToHost == cudaMemcpyDeviceToHost);
static_assert(sizeof(Address) == sizeof(CUdeviceptr) && sizeof(Handle) == sizeof(CUmemGenericAllocationHandle));
static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(sizeof(DriverLaunchConfig) == sizeof(CUlaunchConfig));
static_assert(offsetof(DriverLaunchConfig, block) == offsetof(CUlaunchConfig, blockDimX));
static_assert(offsetof(DriverLaunchConfig, shared) == offsetof(CUlaunchConfig, sharedMemBytes));
static_assert(offsetof(DriverLaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(DriverLaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(DriverLaunchConfig, count) == offsetof(CUlaunchConfig, numAttrs));
static_assert(sizeof(Location) == sizeof(CUmemLocation) && kLocationDevice == CU_MEM_LOCATION_TYPE_DEVICE);
static_assert(sizeof(MemoryProperties) == sizeof(CUmemAllocationProp) && kPinned == CU_MEM_ALLOCATION_TYPE_PINNED);
static_assert(offsetof(MemoryProperties, location) == offsetof(CUmemAllocationProp, location));
static_assert(offsetof(MemoryProperties, compression) == offsetof(CUmemAllocationProp, allocFlags));
static_assert(offsetof(Access, flags) == offsetof(CUmemAccessDesc, flags));
static_assert(kRegisterPortable == CU_MEMHOSTREGISTER_PORTABLE && kRegisterMapped == CU_MEMHOSTREGISTER_DEVICEMAP);
static_assert(kStackSize == CU_LIMIT_STACK_SIZE && kHeapSize == CU_LIMIT_MALLOC_HEAP_SIZE);
static_assert(kNoTiming == CU_EVENT_DISABLE_TIMING);
static_assert(sizeof(Access) == sizeof(CUmemAccessDesc) && kReadWrite == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
static_assert(CU_MEM_ACCESS_FLAGS_PROT_NONE == 0);

}  // namespace mneme::vendor::cuda
#endif

// The comparison is the compiler's; this says that it took place.
TEST(CudaApi, AgreesWithTheToolkitsHeaders) { EXPECT_EQ(mneme::vendor::kSuccess, 0); }
