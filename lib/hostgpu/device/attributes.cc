// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/device/info.h"
#include "hostgpu/errors.h"

namespace mneme::hostgpu {
namespace {

// Sizes that do not fit an int are what fits.
int clamp(size_t value) { return value > INT32_MAX ? INT32_MAX : static_cast<int>(value); }

int attribute(hipDeviceAttribute_t which) {
  const hipDeviceProp_t& p = properties();
  switch (which) {
    case hipDeviceAttributeEccEnabled:
      return p.ECCEnabled;
    case hipDeviceAttributeAsyncEngineCount:
      return 2;
    case hipDeviceAttributeCanMapHostMemory:
      return p.canMapHostMemory;
    case hipDeviceAttributeCanUseHostPointerForRegisteredMem:
    case hipDeviceAttributeConcurrentKernels:
    case hipDeviceAttributeConcurrentManagedAccess:
    case hipDeviceAttributeDeviceOverlap:
    case hipDeviceAttributeDirectManagedMemAccessFromHost:
    case hipDeviceAttributeHostNativeAtomicSupported:
    case hipDeviceAttributeManagedMemory:
    case hipDeviceAttributeUnifiedAddressing:
    case hipDeviceAttributeStreamPrioritiesSupported:
    case hipDeviceAttributeGlobalL1CacheSupported:
    case hipDeviceAttributeLocalL1CacheSupported:
    case hipDeviceAttributeIsLargeBar:
    case hipDeviceAttributeFineGrainSupport:
    case hipDeviceAttributeCooperativeLaunch:
    case hipDeviceAttributeMemoryPoolsSupported:
    case hipDeviceAttributeImageSupport:
      return 1;
    case hipDeviceAttributePageableMemoryAccess:
    case hipDeviceAttributePageableMemoryAccessUsesHostPageTables:
    case hipDeviceAttributeAccessPolicyMaxWindowSize:
    case hipDeviceAttributeComputePreemptionSupported:
    case hipDeviceAttributeCooperativeMultiDeviceLaunch:
    case hipDeviceAttributeCooperativeMultiDeviceUnmatchedFunc:
    case hipDeviceAttributeCooperativeMultiDeviceUnmatchedGridDim:
    case hipDeviceAttributeCooperativeMultiDeviceUnmatchedBlockDim:
    case hipDeviceAttributeCooperativeMultiDeviceUnmatchedSharedMem:
    case hipDeviceAttributeIntegrated:
    case hipDeviceAttributeIsMultiGpuBoard:
    case hipDeviceAttributeMultiGpuBoardGroupID:
    case hipDeviceAttributeKernelExecTimeout:
    case hipDeviceAttributeTccDriver:
    case hipDeviceAttributePersistingL2CacheMaxSize:
    case hipDeviceAttributeCanUseStreamWaitValue:
    case hipDeviceAttributeAsicRevision:
    case hipDeviceAttributePciBusId:
    case hipDeviceAttributePciDeviceId:
    case hipDeviceAttributePciDomainID:
      return 0;
    case hipDeviceAttributeMaxSurface1D:
    case hipDeviceAttributeMaxTexture1DWidth:
      return p.maxTexture1D;
    case hipDeviceAttributeMaxTexture1DLinear:
      return p.maxTexture1DLinear;
    case hipDeviceAttributeMaxSurface2D:
    case hipDeviceAttributeMaxTexture2DWidth:
      return p.maxTexture2D[0];
    case hipDeviceAttributeMaxTexture2DHeight:
      return p.maxTexture2D[1];
    case hipDeviceAttributeMaxSurface3D:
    case hipDeviceAttributeMaxTexture3DWidth:
      return p.maxTexture3D[0];
    case hipDeviceAttributeMaxTexture3DHeight:
      return p.maxTexture3D[1];
    case hipDeviceAttributeMaxTexture3DDepth:
      return p.maxTexture3D[2];
    case hipDeviceAttributeClockRate:
      return p.clockRate;
    case hipDeviceAttributeComputeMode:
      return p.computeMode;
    case hipDeviceAttributeL2CacheSize:
      return p.l2CacheSize;
    case hipDeviceAttributeComputeCapabilityMajor:
      return p.major;
    case hipDeviceAttributeComputeCapabilityMinor:
      return p.minor;
    case hipDeviceAttributeMaxBlocksPerMultiProcessor:
      return 32;
    case hipDeviceAttributeMaxBlockDimX:
    case hipDeviceAttributeMaxBlockDimY:
    case hipDeviceAttributeMaxBlockDimZ:
    case hipDeviceAttributeMaxThreadsDim:
    case hipDeviceAttributeMaxThreadsPerBlock:
      return p.maxThreadsPerBlock;
    case hipDeviceAttributeMaxGridDimX:
      return p.maxGridSize[0];
    case hipDeviceAttributeMaxGridDimY:
      return p.maxGridSize[1];
    case hipDeviceAttributeMaxGridDimZ:
      return p.maxGridSize[2];
    case hipDeviceAttributeMaxThreadsPerMultiProcessor:
      return p.maxThreadsPerMultiProcessor;
    case hipDeviceAttributeMaxPitch:
      return clamp(p.memPitch);
    case hipDeviceAttributeMemoryBusWidth:
      return p.memoryBusWidth;
    case hipDeviceAttributeMemoryClockRate:
      return p.memoryClockRate;
    case hipDeviceAttributeMultiprocessorCount:
    case hipDeviceAttributePhysicalMultiProcessorCount:
      return p.multiProcessorCount;
    case hipDeviceAttributeMaxRegistersPerBlock:
    case hipDeviceAttributeMaxRegistersPerMultiprocessor:
      return p.regsPerBlock;
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
      return clamp(shared_memory().usual);
    case hipDeviceAttributeSharedMemPerBlockOptin:
      return clamp(shared_memory().most);
    case hipDeviceAttributeReservedSharedMemPerBlock:
      return clamp(shared_memory().reserved);
    case hipDeviceAttributeSharedMemPerMultiprocessor:
    case hipDeviceAttributeMaxSharedMemoryPerMultiprocessor:
      return clamp(shared_memory().multiprocessor);
    case hipDeviceAttributeSurfaceAlignment:
    case hipDeviceAttributeTextureAlignment:
    case hipDeviceAttributeTexturePitchAlignment:
      return clamp(p.textureAlignment);
    case hipDeviceAttributeSingleToDoublePrecisionPerfRatio:
      return 1;
    case hipDeviceAttributeTotalConstantMemory:
      return clamp(p.totalConstMem);
    case hipDeviceAttributeTotalGlobalMem:
      return clamp(p.totalGlobalMem);
    case hipDeviceAttributeWarpSize:
      return p.warpSize;
    case hipDeviceAttributeClockInstructionRate:
      return p.clockInstructionRate;
    case hipDeviceAttributeGcnArch:
      return p.gcnArch;
    default:
      throw HipError(hipErrorInvalidValue);
  }
}

}  // namespace
}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t which, int device) {
  return answer([&] {
    require(value);
    check_device(device);
    *value = attribute(which);
  });
}
