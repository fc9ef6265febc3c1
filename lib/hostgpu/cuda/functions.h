// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of CUDA's runtime that others of it call, and the driver's: the driver's library has them, too, for itself.
#pragma once
#include "hostgpu/cuda/cuda.h"

extern "C" {
using mneme::hostgpu::cuda::Error;
Error cudaDeviceGetAttribute(int* value, int which, int device);
Error cudaDeviceGetLimit(size_t* value, int limit);
Error cudaDeviceSetLimit(int limit, size_t value);
Error cudaStreamGetDevice(hipStream_t stream, int* device);
Error cudaStreamGetId(hipStream_t stream, unsigned long long* id);
Error cudaStreamGetAttribute(hipStream_t stream, int which, void* value);
Error cudaStreamSetAttribute(hipStream_t stream, int which, const void* value);
Error cudaStreamCopyAttributes(hipStream_t to, hipStream_t from);
Error cudaEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned flags);
Error cudaFuncGetName(const char** name, const void* function);
Error cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset, size_t* size);
Error cudaOccupancyAvailableDynamicSMemPerBlock(size_t* size, const void* function, int blocks, int threads);
Error cudaMallocAsync(void** pointer, size_t size, hipStream_t stream);
Error cudaMallocFromPoolAsync(void** pointer, size_t size, hipMemPool_t pool, hipStream_t stream);
Error cudaMemPoolCreate(hipMemPool_t* pool, const mneme::hostgpu::cuda::PoolProperties* properties);
Error cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                                  hipStream_t stream);
Error cudaLaunchKernelExC(const mneme::vendor::cuda::LaunchConfig* config, const void* function, void** arguments);
Error cudaGraphAddKernelNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* before, size_t count,
                             const mneme::vendor::cuda::KernelNode* parameters);
Error cudaGraphAddMemsetNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* before, size_t count,
                             const mneme::hostgpu::cuda::FillParameters* fill);
Error cudaGraphMemsetNodeGetParams(hipGraphNode_t node, mneme::hostgpu::cuda::FillParameters* fill);
Error cudaGraphMemsetNodeSetParams(hipGraphNode_t node, const mneme::hostgpu::cuda::FillParameters* fill);
Error cudaGraphExecMemsetNodeSetParams(hipGraphExec_t made, hipGraphNode_t node,
                                       const mneme::hostgpu::cuda::FillParameters* fill);
Error cudaMemcpyToArrayAsync(hipArray* to, size_t x, size_t row, const void* from, size_t size, int kind,
                             hipStream_t stream);
Error cudaMemcpyFromArrayAsync(void* to, const hipArray* from, size_t x, size_t row, size_t size, int kind,
                               hipStream_t stream);
Error cudaFree(void* pointer);
Error cudaFreeAsync(void* pointer, hipStream_t stream);
Error cudaGraphAddMemAllocNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* before, size_t count,
                               mneme::vendor::cuda::AllocationNode* parameters);
Error cudaGraphAddMemFreeNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* before, size_t count,
                              void* memory);
Error cudaGraphMemAllocNodeGetParams(hipGraphNode_t node, mneme::vendor::cuda::AllocationNode* parameters);
Error cudaGraphMemFreeNodeGetParams(hipGraphNode_t node, void* memory);
Error cudaGraphConditionalHandleCreate(unsigned long long* handle, hipGraph_t graph, unsigned value, unsigned flags);
Error cudaGraphNodeGetType(hipGraphNode_t node, int* type);
Error cudaGraphUpload(hipGraphExec_t graph, hipStream_t stream);
Error cudaLibraryLoadData(hipModule_t* library, const void* code, int* options, void** values, unsigned count,
                          int* library_options, void** library_values, unsigned library_count);
Error cudaLibraryLoadFromFile(hipModule_t* library, const char* path, int* options, void** values, unsigned count,
                              int* library_options, void** library_values, unsigned library_count);
Error cudaLibraryGetKernelCount(unsigned* count, hipModule_t library);
Error cudaLibraryEnumerateKernels(hipFunction_t* kernels, unsigned room, hipModule_t library);
}
