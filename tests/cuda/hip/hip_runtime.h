// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// HIP's names as CUDA's, so that the programs of tests/programs are CUDA programs too. What the two have alike and the
// programs use, and no more.
#pragma once
#include <cuda_runtime.h>

#if defined(__NVCC__) && !defined(__CUDA__)
#define __CUDA__ 1  // as clang has it
#endif

#include "atomics.h"
#include "lanes.h"
#include "library.h"
#include "textures.h"
#include "vectors.h"

#define hipFree cudaFree
#define hipMalloc cudaMalloc
#define hipMemcpy cudaMemcpy
#define hipMemcpyAsync cudaMemcpyAsync
#define hipMemset cudaMemset
#define hipMemsetAsync cudaMemsetAsync
#define hipMemcpy2D cudaMemcpy2D
#define hipMemset2D cudaMemset2D
#define hipMemcpyToSymbol cudaMemcpyToSymbol
#define hipMemcpyFromSymbol cudaMemcpyFromSymbol
#define hipMallocPitch cudaMallocPitch
#define hipMallocManaged cudaMallocManaged
#define hipMallocAsync cudaMallocAsync
#define hipFreeAsync cudaFreeAsync
#define hipMallocFromPoolAsync cudaMallocFromPoolAsync
#define hipGetLastError cudaGetLastError
#define hipPeekAtLastError cudaPeekAtLastError
#define hipGetErrorString cudaGetErrorString
#define hipGetErrorName cudaGetErrorName
#define hipDeviceSynchronize cudaDeviceSynchronize
#define hipGetDeviceProperties cudaGetDeviceProperties
#define hipGetDeviceCount cudaGetDeviceCount
#define hipGetDevice cudaGetDevice
#define hipSetDevice cudaSetDevice
#define hipDeviceGetAttribute cudaDeviceGetAttribute
#define hipDeviceGetDefaultMemPool cudaDeviceGetDefaultMemPool
#define hipDeviceCanAccessPeer cudaDeviceCanAccessPeer
#define hipMemGetInfo cudaMemGetInfo
#define hipHostRegister cudaHostRegister
#define hipHostUnregister cudaHostUnregister
#define hipHostGetDevicePointer cudaHostGetDevicePointer
#define hipGetSymbolAddress cudaGetSymbolAddress
#define hipStreamCreate cudaStreamCreate
#define hipStreamCreateWithFlags cudaStreamCreateWithFlags
#define hipStreamDestroy cudaStreamDestroy
#define hipStreamSynchronize cudaStreamSynchronize
#define hipStreamQuery cudaStreamQuery
#define hipStreamWaitEvent cudaStreamWaitEvent
#define hipStreamAddCallback cudaStreamAddCallback
#define hipStreamBeginCapture cudaStreamBeginCapture
#define hipStreamEndCapture cudaStreamEndCapture
#define hipEventCreate cudaEventCreate
#define hipEventCreateWithFlags cudaEventCreateWithFlags
#define hipEventDestroy cudaEventDestroy
#define hipEventRecord cudaEventRecord
#define hipEventSynchronize cudaEventSynchronize
#define hipEventElapsedTime cudaEventElapsedTime
#define hipEventQuery cudaEventQuery
#define hipLaunchKernel cudaLaunchKernel
#define hipLaunchCooperativeKernel cudaLaunchCooperativeKernel
#define hipFuncGetAttributes cudaFuncGetAttributes
#define hipFuncSetAttribute cudaFuncSetAttribute
#define hipFuncSetCacheConfig cudaFuncSetCacheConfig
#define hipOccupancyMaxActiveBlocksPerMultiprocessor cudaOccupancyMaxActiveBlocksPerMultiprocessor
#define hipOccupancyMaxPotentialBlockSize cudaOccupancyMaxPotentialBlockSize
#define hipGraphCreate cudaGraphCreate
#define hipGraphAddMemcpyNodeToSymbol cudaGraphAddMemcpyNodeToSymbol
#define hipGraphAddMemcpyNodeFromSymbol cudaGraphAddMemcpyNodeFromSymbol
#define hipGraphKernelNodeGetParams cudaGraphKernelNodeGetParams
#define hipGraphDestroy cudaGraphDestroy
#define hipGraphLaunch cudaGraphLaunch
#define hipGraphExecDestroy cudaGraphExecDestroy
#define hipGraphAddKernelNode cudaGraphAddKernelNode
#define hipGraphAddMemcpyNode1D cudaGraphAddMemcpyNode1D
#define hipGraphAddMemcpyNode cudaGraphAddMemcpyNode
#define hipGraphAddMemsetNode cudaGraphAddMemsetNode
#define hipGraphAddHostNode cudaGraphAddHostNode
#define hipGraphAddChildGraphNode cudaGraphAddChildGraphNode
#define hipGraphKernelNodeSetParams cudaGraphKernelNodeSetParams
#define hipGraphExecKernelNodeSetParams cudaGraphExecKernelNodeSetParams
#define hipGraphGetNodes cudaGraphGetNodes
#define hipMemPoolCreate cudaMemPoolCreate
#define hipMemPoolDestroy cudaMemPoolDestroy
#define hipMemPoolTrimTo cudaMemPoolTrimTo
#define hipMemPoolGetAttribute cudaMemPoolGetAttribute
#define hipMemPoolSetAttribute cudaMemPoolSetAttribute
#define hipPointerGetAttributes cudaPointerGetAttributes
#define hipMemcpy3D cudaMemcpy3D
#define hipDeviceGetPCIBusId cudaDeviceGetPCIBusId
#define hipDeviceGetByPCIBusId cudaDeviceGetByPCIBusId
#define hipChooseDevice cudaChooseDevice
#define hipSuccess cudaSuccess
#define hipError_t cudaError_t
#define hipErrorInvalidValue cudaErrorInvalidValue
#define hipErrorInvalidDevice cudaErrorInvalidDevice
#define hipErrorInvalidConfiguration cudaErrorInvalidConfiguration
#define hipErrorNotReady cudaErrorNotReady
#define hipErrorNotSupported cudaErrorNotSupported
#define hipErrorInvalidDeviceFunction cudaErrorInvalidDeviceFunction
#define hipErrorCooperativeLaunchTooLarge cudaErrorCooperativeLaunchTooLarge
#define hipErrorLaunchFailure cudaErrorLaunchFailure
#define hipErrorInvalidMemcpyDirection cudaErrorInvalidMemcpyDirection
#define hipStream_t cudaStream_t
#define hipEvent_t cudaEvent_t
#define hipGraph_t cudaGraph_t
#define hipGraphNode_t cudaGraphNode_t
#define hipGraphExec_t cudaGraphExec_t
#define hipMemPool_t cudaMemPool_t
#define hipKernelNodeParams cudaKernelNodeParams
#define hipMemsetParams cudaMemsetParams
#define hipHostNodeParams cudaHostNodeParams
#define hipMemcpy3DParms cudaMemcpy3DParms
#define hipMemPoolProps cudaMemPoolProps
#define hipFuncAttributes cudaFuncAttributes
#define hipExtent cudaExtent
#define make_hipExtent make_cudaExtent
#define make_hipPitchedPtr make_cudaPitchedPtr
#define hipMemcpyKind cudaMemcpyKind
#define hipStreamCallback_t cudaStreamCallback_t
#define hipMemcpyHostToDevice cudaMemcpyHostToDevice
#define hipMemcpyDeviceToHost cudaMemcpyDeviceToHost
#define hipMemcpyDeviceToDevice cudaMemcpyDeviceToDevice
#define hipMemcpyDefault cudaMemcpyDefault
#define hipMemAttachGlobal cudaMemAttachGlobal
#define hipStreamNonBlocking cudaStreamNonBlocking
#define hipEventDisableTiming cudaEventDisableTiming
#define hipStreamCaptureModeGlobal cudaStreamCaptureModeGlobal
#define hipStreamPerThread cudaStreamPerThread
#define hipHostRegisterMapped cudaHostRegisterMapped
#define hipMemPoolAttrReleaseThreshold cudaMemPoolAttrReleaseThreshold
#define hipMemLocationTypeDevice cudaMemLocationTypeDevice
#define hipMemAllocationTypePinned cudaMemAllocationTypePinned
#define hipFuncCachePreferL1 cudaFuncCachePreferL1
#define hipFuncAttributeMaxDynamicSharedMemorySize cudaFuncAttributeMaxDynamicSharedMemorySize
#define hipDeviceProp_t cudaDeviceProp
#define hipPointerAttribute_t cudaPointerAttributes
#define hipHostFree cudaFreeHost
#define hipHostMallocMapped cudaHostAllocMapped
#define hipHostMallocDefault cudaHostAllocDefault
#define hipHostMallocCoherent cudaHostAllocDefault
#define hipErrorOutOfMemory cudaErrorMemoryAllocation
#define hipErrorInvalidHandle cudaErrorInvalidResourceHandle
#define hipErrorNotFound cudaErrorSymbolNotFound
#define hipDeviceAttributeWarpSize cudaDevAttrWarpSize
#define hipDeviceAttributeMultiprocessorCount cudaDevAttrMultiProcessorCount
#define hipDeviceAttributeMaxThreadsPerBlock cudaDevAttrMaxThreadsPerBlock
#define hipDeviceAttributeMaxSharedMemoryPerBlock cudaDevAttrMaxSharedMemoryPerBlock
#define hipDeviceAttributeMaxGridDimX cudaDevAttrMaxGridDimX
#define hipDeviceAttributeCooperativeLaunch cudaDevAttrCooperativeLaunch
#define hipDeviceAttributeClockRate cudaDevAttrClockRate
#define hipDeviceAttribute_t cudaDeviceAttr
#define HIP_SYMBOL(name) name
#define hipLaunchKernelGGL(kernel, grid, block, shared, stream, ...) \
  kernel<<<(grid), (block), (shared), (stream)>>>(__VA_ARGS__)

template <class T>
cudaError_t hipHostMalloc(T** memory, size_t size, unsigned flags = 0) {
  return cudaHostAlloc(reinterpret_cast<void**>(memory), size, flags);
}
inline cudaError_t hipGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, cudaGraphNode_t*, char*, size_t) {
  return cudaGraphInstantiate(made, graph, 0);
}

// CUDA tells more of both.
inline cudaError_t hipGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, size_t* count) {
#if CUDART_VERSION >= 13000
  return cudaGraphGetEdges(graph, from, to, nullptr, count);
#else
  return cudaGraphGetEdges(graph, from, to, count);
#endif
}
using hipGraphExecUpdateResult = cudaGraphExecUpdateResult;
inline cudaError_t hipGraphExecUpdate(cudaGraphExec_t made, cudaGraph_t graph, cudaGraphNode_t* node,
                                      hipGraphExecUpdateResult* result) {
  cudaGraphExecUpdateResultInfo info;
  cudaError_t status = cudaGraphExecUpdate(made, graph, &info);
  *node = info.errorNode;
  *result = info.result;
  return status;
}
