// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <atomic>
#include <iterator>

#include "hostgpu/cuda/cuda.h"

namespace mneme::hostgpu::cuda {
namespace {

// Numbers of attributes, and what HIP calls them.
struct Attribute {
  int cuda;
  hipDeviceAttribute_t hip;
};
constexpr Attribute kAttributes[] = {
    {1, hipDeviceAttributeMaxThreadsPerBlock},
    {2, hipDeviceAttributeMaxBlockDimX},
    {3, hipDeviceAttributeMaxBlockDimY},
    {4, hipDeviceAttributeMaxBlockDimZ},
    {5, hipDeviceAttributeMaxGridDimX},
    {6, hipDeviceAttributeMaxGridDimY},
    {7, hipDeviceAttributeMaxGridDimZ},
    {8, hipDeviceAttributeMaxSharedMemoryPerBlock},
    {9, hipDeviceAttributeTotalConstantMemory},
    {10, hipDeviceAttributeWarpSize},
    {11, hipDeviceAttributeMaxPitch},
    {12, hipDeviceAttributeMaxRegistersPerBlock},
    {13, hipDeviceAttributeClockRate},
    {14, hipDeviceAttributeTextureAlignment},
    {15, hipDeviceAttributeDeviceOverlap},
    {16, hipDeviceAttributeMultiprocessorCount},
    {17, hipDeviceAttributeKernelExecTimeout},
    {18, hipDeviceAttributeIntegrated},
    {19, hipDeviceAttributeCanMapHostMemory},
    {20, hipDeviceAttributeComputeMode},
    {21, hipDeviceAttributeMaxTexture1DWidth},
    {22, hipDeviceAttributeMaxTexture2DWidth},
    {23, hipDeviceAttributeMaxTexture2DHeight},
    {24, hipDeviceAttributeMaxTexture3DWidth},
    {25, hipDeviceAttributeMaxTexture3DHeight},
    {26, hipDeviceAttributeMaxTexture3DDepth},
    {31, hipDeviceAttributeConcurrentKernels},
    {32, hipDeviceAttributeEccEnabled},
    {33, hipDeviceAttributePciBusId},
    {34, hipDeviceAttributePciDeviceId},
    {36, hipDeviceAttributeMemoryClockRate},
    {37, hipDeviceAttributeMemoryBusWidth},
    {38, hipDeviceAttributeL2CacheSize},
    {39, hipDeviceAttributeMaxThreadsPerMultiProcessor},
    {40, hipDeviceAttributeAsyncEngineCount},
    {41, hipDeviceAttributeUnifiedAddressing},
    {50, hipDeviceAttributePciDomainID},
    {51, hipDeviceAttributeTexturePitchAlignment},
    {75, hipDeviceAttributeComputeCapabilityMajor},
    {76, hipDeviceAttributeComputeCapabilityMinor},
    {78, hipDeviceAttributeStreamPrioritiesSupported},
    {79, hipDeviceAttributeGlobalL1CacheSupported},
    {80, hipDeviceAttributeLocalL1CacheSupported},
    {81, hipDeviceAttributeSharedMemPerMultiprocessor},
    {82, hipDeviceAttributeMaxRegistersPerMultiprocessor},
    {83, hipDeviceAttributeManagedMemory},
    {86, hipDeviceAttributeHostNativeAtomicSupported},
    {87, hipDeviceAttributeSingleToDoublePrecisionPerfRatio},
    {88, hipDeviceAttributePageableMemoryAccess},
    {89, hipDeviceAttributeConcurrentManagedAccess},
    {91, hipDeviceAttributeCanUseHostPointerForRegisteredMem},
    {95, hipDeviceAttributeCooperativeLaunch},
    {97, hipDeviceAttributeSharedMemPerBlockOptin},
    {100, hipDeviceAttributePageableMemoryAccessUsesHostPageTables},
    {101, hipDeviceAttributeDirectManagedMemAccessFromHost},
    {106, hipDeviceAttributeMaxBlocksPerMultiProcessor},
    {111, hipDeviceAttributeReservedSharedMemPerBlock},
    {115, hipDeviceAttributeMemoryPoolsSupported},
};
// Attributes without a HIP name. The host device has registered memory, virtual memory, and waits for 64-bit words and
// by NOR. It has nothing of the rest, up to CUDA 13.0's last: clusters, links between processes, layers of textures…
constexpr int kThere[] = {99, 102, 122, 123};
constexpr int kLast = 147;

constexpr int kLimitPrintf = 1;  // cudaLimitPrintfFifoSize
std::atomic<size_t> printf_limit{1 << 20};

Error attribute(int* value, int which, int device) {
  const auto* found = std::ranges::find(kAttributes, which, &Attribute::cuda);
  if (found != std::end(kAttributes)) return error(hipDeviceGetAttribute(value, found->hip, device));
  if (!value || which < 1 || which > kLast) return kInvalidValue;
  *value = std::ranges::find(kThere, which) != std::end(kThere);
  return 0;
}

}  // namespace
}  // namespace mneme::hostgpu::cuda

using namespace mneme::hostgpu::cuda;

extern "C" {

Error cudaInitDevice(int device, unsigned, unsigned) {
  int count = 0;
  hipError_t status = hipGetDeviceCount(&count);
  return status == hipSuccess && (device < 0 || device >= count) ? error(hipErrorInvalidDevice) : error(status);
}
Error cudaSetValidDevices(const int*, int) { return 0; }

Error cudaDeviceGetAttribute(int* value, int which, int device) { return attribute(value, which, device); }
Error cudaDeviceGetLimit(size_t* value, int limit) {
  if (limit != kLimitPrintf) return error(hipDeviceGetLimit(value, static_cast<hipLimit_t>(limit)));
  if (!value) return kInvalidValue;
  *value = printf_limit;
  return 0;
}
// What kernels print is not kept back here: how much there may be is but remembered.
Error cudaDeviceSetLimit(int limit, size_t value) {
  if (limit != kLimitPrintf) return error(hipDeviceSetLimit(static_cast<hipLimit_t>(limit), value));
  printf_limit = value;
  return 0;
}
Error cudaCtxResetPersistingL2Cache() { return 0; }
Error cudaProfilerStart() { return 0; }
Error cudaProfilerStop() { return 0; }

}  // extern "C"
