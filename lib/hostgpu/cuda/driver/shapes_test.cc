// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares driver.h, and the parameters of the functions in forwarded.def, with the toolkit's header, where there is
// one.
#include <gtest/gtest.h>

#include <vector>

#include "hostgpu/cuda/driver/driver.h"
#include "hostgpu/cuda/functions.h"

#if __has_include(<cuda.h>)
#define __CUDA_API_VERSION_INTERNAL  // all versions of all functions
#include <cuda.h>

namespace mneme::hostgpu::cuda::driver {
namespace {

// How many bytes each parameter has. All are passed as numbers are.
template <class>
struct Shape;
template <class Result, class... Parameters>
struct Shape<Result(Parameters...)> {
  static_assert((... && !std::is_floating_point_v<Parameters>));
  static std::vector<size_t> sizes() { return {sizeof(Parameters)...}; }
};
template <class Result>
struct Shape<Result()> {
  static std::vector<size_t> sizes() { return {}; }
};

template <class Theirs, class Ours>
void expect_alike(const char* name) {
  EXPECT_EQ(Shape<Theirs>::sizes(), Shape<Ours>::sizes()) << name;
}

TEST(DriverForwarded, FunctionsTakeTheSame) {
#define CALL(count, name, function) expect_alike<decltype(name), decltype(function)>(#name);
#define ON_STREAM(count, name, function) \
  CALL(count, name, function)            \
  CALL(count, name##_ptsz, function)
#define SYNCHRONOUS(count, name, function, queued) \
  CALL(count, name, function)                      \
  CALL(count, name##_ptds, function)
#include "hostgpu/cuda/driver/forwarded.def"
}

TEST(DriverInterface, IsTheToolkits) {
#define SIZE(ours, theirs) EXPECT_EQ(sizeof(ours), sizeof(theirs)) << #theirs
#define PLACE(ours, member, theirs, name) EXPECT_EQ(offsetof(ours, member), offsetof(theirs, name)) << #theirs "." #name
#define VALUE(ours, theirs) EXPECT_EQ(static_cast<int>(ours), static_cast<int>(theirs)) << #theirs
  EXPECT_EQ(sizeof(CUDA_KERNEL_NODE_PARAMS_v1), offsetof(DriverKernelNode, kernel));
  SIZE(FillParameters, CUDA_MEMSET_NODE_PARAMS_v1);
  PLACE(FillParameters, width, CUDA_MEMSET_NODE_PARAMS_v1, width);
  SIZE(RowsCopy, CUDA_MEMCPY2D_v2);
  PLACE(RowsCopy, from.type, CUDA_MEMCPY2D_v2, srcMemoryType);
  PLACE(RowsCopy, to.device, CUDA_MEMCPY2D_v2, dstDevice);
  PLACE(RowsCopy, height, CUDA_MEMCPY2D_v2, Height);
  SIZE(BoxCopy, CUDA_MEMCPY3D_PEER);
  PLACE(BoxCopy, to.context, CUDA_MEMCPY3D_PEER, dstContext);
  PLACE(BoxCopy, to.height, CUDA_MEMCPY3D_PEER, dstHeight);
  SIZE(PoolProperties, CUmemPoolProps);
  PLACE(PoolProperties, location, CUmemPoolProps, location);
  SIZE(CopyAttributes, CUmemcpyAttributes);
  PLACE(CopyAttributes, flags, CUmemcpyAttributes, flags);
  SIZE(hipHostNodeParams, CUDA_HOST_NODE_PARAMS_v1);
  SIZE(UpdateResult, CUgraphExecUpdateResultInfo);
  VALUE(kHostMemory, CU_MEMORYTYPE_HOST);
  VALUE(kInvalidHandle, CUDA_ERROR_INVALID_HANDLE);
  VALUE(kNotFound, CUDA_ERROR_NOT_FOUND);
  VALUE(kDuringCall, CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL);
  VALUE(HIP_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_CONTEXT);
  VALUE(HIP_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_IS_MANAGED);
  VALUE(HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
  VALUE(HIP_POINTER_ATTRIBUTE_ACCESS_FLAGS, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS);
  VALUE(HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  VALUE(HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
  VALUE(hipFuncAttributeMaxDynamicSharedMemorySize, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  VALUE(hipLimitMallocHeapSize, CU_LIMIT_MALLOC_HEAP_SIZE);
  VALUE(hipMemRangeAttributeLastPrefetchLocation, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION);
  VALUE(hipStreamWaitValueNor, CU_STREAM_WAIT_VALUE_NOR);
  VALUE(hipDevP2PAttrHipArrayAccessSupported + 1, CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED);
  VALUE(hipGraphExecUpdateErrorUnsupportedFunctionChange, CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE);
  VALUE(hipStreamCaptureStatusInvalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  VALUE(hipMemPoolAttrUsedMemHigh, CU_MEMPOOL_ATTR_USED_MEM_HIGH);
  VALUE(hipMemAccessFlagsProtReadWrite, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

}  // namespace
}  // namespace mneme::hostgpu::cuda::driver
#else
TEST(DriverInterface, IsTheToolkits) { GTEST_SKIP() << "there is no CUDA toolkit to compare with"; }
#endif
