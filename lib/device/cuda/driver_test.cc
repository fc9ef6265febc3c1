// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What driver.h declares is what the toolkit's header says, where there is one.
#include "device/cuda/driver.h"

#include <gtest/gtest.h>

#include <cstddef>

#include "device/cuda/cupti.h"

#if __has_include(<cuda.h>)
#include <cuda.h>

namespace mneme::device::cuda {

static_assert(sizeof(Address) == sizeof(CUdeviceptr) && sizeof(Handle) == sizeof(CUmemGenericAllocationHandle));
static_assert(kMinimumGranularity == CU_MEM_ALLOC_GRANULARITY_MINIMUM);
static_assert(kMaxDynamicShared == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
static_assert(kErrorLogBuffer == CU_JIT_ERROR_LOG_BUFFER && kErrorLogSize == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
static_assert(kNotFound == CUDA_ERROR_NOT_FOUND);
static_assert(kNonPortableCluster == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
static_assert(kRequiredCluster == CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH);
static_assert(kRequiredCluster + 1 == CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT);
static_assert(kRequiredCluster + 2 == CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH);
static_assert(sizeof(LaunchConfiguration) == sizeof(CUlaunchConfig));
static_assert(offsetof(LaunchConfiguration, block) == offsetof(CUlaunchConfig, blockDimX));
static_assert(offsetof(LaunchConfiguration, shared_bytes) == offsetof(CUlaunchConfig, sharedMemBytes));
static_assert(offsetof(LaunchConfiguration, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(LaunchConfiguration, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(kL2CacheSize == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);

#if __has_include(<cupti_activity.h>)
}  // namespace mneme::device::cuda
#include <cupti_activity.h>
namespace mneme::device::cuda {
static_assert(kActivityKernel == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
static_assert(kFlushForced == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
static_assert(offsetof(KernelActivity, start) == offsetof(CUpti_ActivityKernel10, start));
static_assert(offsetof(KernelActivity, end) == offsetof(CUpti_ActivityKernel10, end));
#endif

}  // namespace mneme::device::cuda
#endif

// The comparison is the compiler's; this says that it took place.
TEST(CudaDriver, AgreesWithTheToolkitsHeader) { EXPECT_EQ(mneme::device::cuda::kPinned, 1); }
