// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What api.h declares is what the vendor's header says, where there is one.
#include "vendor/hip/api.h"

#include <gtest/gtest.h>

#if __has_include(<hip/hip_runtime_api.h>)
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_DISABLE_CPP_FUNCTIONS__ 1
#include <hip/hip_runtime_api.h>

namespace mneme::vendor::hip {

static_assert(sizeof(Dimensions) == sizeof(dim3));
static_assert(sizeof(PitchedPointer) == sizeof(hipPitchedPtr));
static_assert(offsetof(PitchedPointer, pitch) == offsetof(hipPitchedPtr, pitch));
static_assert(sizeof(Extent) == sizeof(hipExtent));
static_assert(sizeof(PointerAttributes) == sizeof(hipPointerAttribute_t));
static_assert(offsetof(PointerAttributes, host_pointer) == offsetof(hipPointerAttribute_t, hostPointer));
static_assert(offsetof(PointerAttributes, flags) == offsetof(hipPointerAttribute_t, allocationFlags));
static_assert(kMemoryTypeHost == hipMemoryTypeHost && kMemoryTypeDevice == hipMemoryTypeDevice);
static_assert(kAttributeMemoryType == HIP_POINTER_ATTRIBUTE_MEMORY_TYPE);
static_assert(kAttributeDevicePointer == HIP_POINTER_ATTRIBUTE_DEVICE_POINTER);
static_assert(kAttributeHostPointer == HIP_POINTER_ATTRIBUTE_HOST_POINTER);
static_assert(kAttributeBufferId == HIP_POINTER_ATTRIBUTE_BUFFER_ID);
static_assert(kAttributeIsManaged == HIP_POINTER_ATTRIBUTE_IS_MANAGED);
static_assert(kAttributeDeviceOrdinal == HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
static_assert(kAttributeRangeStart == HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR);
static_assert(kAttributeRangeSize == HIP_POINTER_ATTRIBUTE_RANGE_SIZE);
// The form of ROCm 6 and 7, as its documentation has it, is in no header here.
static_assert(sizeof(MemoryProperties) == 32 && offsetof(MemoryProperties, handle_type) == 4 &&
              offsetof(MemoryProperties, location) == 8 && offsetof(MemoryProperties, win32_metadata) == 16 &&
              offsetof(MemoryProperties, compression) == 24 && offsetof(MemoryProperties, usage) == 26);
static_assert(sizeof(MemoryPropertiesOf52) == sizeof(hipMemAllocationProp));
static_assert(offsetof(MemoryPropertiesOf52, location) == offsetof(hipMemAllocationProp, location));
static_assert(offsetof(MemoryPropertiesOf52, handle_type) == offsetof(hipMemAllocationProp, requestedHandleType));
static_assert(offsetof(MemoryPropertiesOf52, type) == offsetof(hipMemAllocationProp, type));
static_assert(offsetof(MemoryPropertiesOf52, win32_metadata) == offsetof(hipMemAllocationProp, win32HandleMetaData));
static_assert(sizeof(Location) == sizeof(hipMemLocation) && offsetof(Location, id) == offsetof(hipMemLocation, id));
static_assert(sizeof(Access) == sizeof(hipMemAccessDesc));
static_assert(offsetof(Access, flags) == offsetof(hipMemAccessDesc, flags));
static_assert(sizeof(PoolProperties) == sizeof(hipMemPoolProps));
static_assert(offsetof(PoolProperties, location) == offsetof(hipMemPoolProps, location));
static_assert(kPoolReserved == hipMemPoolAttrReservedMemCurrent && kPoolReservedMost == hipMemPoolAttrReservedMemHigh);
static_assert(kPoolUsed == hipMemPoolAttrUsedMemCurrent && kPoolUsedMost == hipMemPoolAttrUsedMemHigh);
static_assert(sizeof(KernelNode) == sizeof(hipKernelNodeParams));
static_assert(offsetof(KernelNode, extra) == offsetof(hipKernelNodeParams, extra));
static_assert(offsetof(KernelNode, function) == offsetof(hipKernelNodeParams, func));
static_assert(offsetof(KernelNode, grid) == offsetof(hipKernelNodeParams, gridDim));
static_assert(offsetof(KernelNode, arguments) == offsetof(hipKernelNodeParams, kernelParams));
static_assert(offsetof(KernelNode, shared) == offsetof(hipKernelNodeParams, sharedMemBytes));
static_assert(kKernelNode + 1 == hipGraphNodeTypeKernel && kEmptyNode + 1 == hipGraphNodeTypeEmpty);
static_assert(kGraphNode + 1 == hipGraphNodeTypeGraph && kRecordNode + 1 == hipGraphNodeTypeEventRecord);
static_assert(kLastEarlyNode == hipGraphNodeTypeMemcpyToSymbol && kLastEarlyNode + 1 == hipGraphNodeTypeCount);
static_assert(kLocationDevice == hipMemLocationTypeDevice && kPinned == hipMemAllocationTypePinned);
static_assert(kFileDescriptor == hipMemHandleTypePosixFileDescriptor && kReadWrite == hipMemAccessFlagsProtReadWrite);
static_assert(kSuccess == hipSuccess && kInvalidValue == hipErrorInvalidValue && kOutOfMemory == hipErrorOutOfMemory);
static_assert(kNotSupported == hipErrorNotSupported && kNotReady == hipErrorNotReady);
static_assert(kRegisterMapped == hipHostRegisterMapped);

// The vendor's are casts, which no constant expression may have.
TEST(HipApi, ParametersOfModuleLaunchesAreTheVendors) {
  EXPECT_EQ(kParameterBuffer, reinterpret_cast<uintptr_t>(HIP_LAUNCH_PARAM_BUFFER_POINTER));
  EXPECT_EQ(kParameterSize, reinterpret_cast<uintptr_t>(HIP_LAUNCH_PARAM_BUFFER_SIZE));
  EXPECT_EQ(kParameterEnd, reinterpret_cast<uintptr_t>(HIP_LAUNCH_PARAM_END));
}

}  // namespace mneme::vendor::hip
#endif

// The comparison is the compiler's; this says that it took place.
TEST(HipApi, AgreesWithTheVendorsHeader) { EXPECT_EQ(mneme::vendor::kSuccess, 0); }
