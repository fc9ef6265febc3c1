// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// As much of CUDA's headers as the programs here use, so that no toolkit is needed to compile them.
#pragma once
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __constant__ __attribute__((constant))
#define __shared__ __attribute__((shared))

struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
using cudaStream_t = struct Stream*;
using cudaEvent_t = struct Event*;
using cudaGraph_t = struct Graph*;
using cudaGraphExec_t = struct GraphExec*;

constexpr int cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3;

// cudaLaunchConfig_t and one of its attributes.
struct LaunchAttribute {
  int which, padding;
  unsigned value[16];
};
struct LaunchConfig {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
  LaunchAttribute* attributes;
  unsigned count;
};
constexpr int kCooperative = 2, kClusterDimension = 4, kStreamSerialization = 6, kPriority = 8;

extern "C" {
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = nullptr);
int cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream);
int cudaLaunchKernel_ptsz(const void*, dim3, dim3, void**, size_t, cudaStream_t);
int cudaLaunchCooperativeKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
int cudaLaunchKernelExC(const LaunchConfig*, const void*, void**);
int cudaMalloc(void**, size_t);
int cudaMallocAsync(void**, size_t, cudaStream_t);
int cudaMallocManaged(void**, size_t, unsigned = 1);
int cudaMallocHost(void**, size_t);
int cudaFree(void*);
int cudaFreeAsync(void*, cudaStream_t);
int cudaFreeHost(void*);
int cudaMemcpy(void*, const void*, size_t, int);
int cudaMemcpyAsync(void*, const void*, size_t, int, cudaStream_t);
int cudaMemcpyToSymbol(const void*, const void*, size_t, size_t = 0, int = cudaMemcpyHostToDevice);
int cudaMemset(void*, int, size_t);
int cudaMemsetAsync(void*, int, size_t, cudaStream_t);
int cudaStreamCreate(cudaStream_t*);
int cudaStreamDestroy(cudaStream_t);
int cudaStreamSynchronize(cudaStream_t);
int cudaEventCreate(cudaEvent_t*);
int cudaEventRecord(cudaEvent_t, cudaStream_t);
int cudaEventSynchronize(cudaEvent_t);
int cudaDeviceSynchronize();
int cudaDeviceSetLimit(int, size_t);
int cudaGetLastError();
}

#ifdef __CUDA_ARCH__
#define THREAD(axis) __nvvm_read_ptx_sreg_tid_##axis()
#define BLOCK(axis) __nvvm_read_ptx_sreg_ctaid_##axis()
#define BLOCK_SIZE(axis) __nvvm_read_ptx_sreg_ntid_##axis()
#define BLOCKS(axis) __nvvm_read_ptx_sreg_nctaid_##axis()
#else
#define THREAD(axis) 0u
#define BLOCK(axis) 0u
#define BLOCK_SIZE(axis) 1u
#define BLOCKS(axis) 1u
#endif
__device__ inline unsigned index() { return BLOCK(x) * BLOCK_SIZE(x) + THREAD(x); }

// Ends the program, naming the line, unless all is well.
#define CHECK(condition)                                                   \
  do {                                                                     \
    if (!(condition)) {                                                    \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                        \
    }                                                                      \
  } while (false)
