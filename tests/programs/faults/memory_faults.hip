// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that go wrong in the way that the argument names, after one good launch: prints what hipDeviceSynchronize
// says of the second, and goes on.

#include <cstring>

#include "../check.h"

__device__ int table[10];

__global__ void fill(int* data, int value) { data[blockIdx.x * blockDim.x + threadIdx.x] = value; }

__global__ void sum(const int* data, int* out) { atomicAdd(out, data[blockIdx.x * blockDim.x + threadIdx.x]); }

__global__ void misaligned(int* data) { *reinterpret_cast<long*>(data + 2 * threadIdx.x + 1) = 7; }

__global__ void shared_overflow(int* data, int n) {
  extern __shared__ int scratch[];
  scratch[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = scratch[threadIdx.x + n];
}

__global__ void variable_overflow(int* data) { data[threadIdx.x] = table[threadIdx.x]; }

__global__ void divide(int* data, int by) {
  data[threadIdx.x] = data[threadIdx.x] / (by - static_cast<int>(threadIdx.x));
}

__device__ __noinline__ int deeper(volatile int* above, int n) {
  volatile int mine[64];
  mine[n % 64] = n;
  return n == 0 ? *above : deeper(mine, n + 1) + mine[n % 7];
}
__global__ void endless_recursion(int* data) {
  volatile int first = 1;
  if (threadIdx.x == 3) data[0] = deeper(&first, data[0] | 1);
}

int main(int argc, char** argv) {
  const char* fault = argc > 1 ? argv[1] : "none";
  auto is = [&](const char* name) { return std::strcmp(fault, name) == 0; };
  int *data = nullptr, *neighbour = nullptr;
  check(hipMalloc(&data, 4096));  // a multiple of what allocations are aligned to: what follows is right behind
  check(hipMalloc(&neighbour, 4096));
  fill<<<4, 256>>>(neighbour, 1);
  fill<<<4, 256>>>(data, 5);
  check(hipDeviceSynchronize());

  if (is("overflow")) {
    fill<<<5, 256>>>(data, 6);
  } else if (is("underflow")) {
    sum<<<1, 1>>>(data - 4, neighbour);
  } else if (is("use_after_free")) {
    check(hipFree(data));
    sum<<<4, 256>>>(data, neighbour);
  } else if (is("misaligned")) {
    misaligned<<<1, 2>>>(data);
  } else if (is("null")) {
    fill<<<1, 4>>>(nullptr, 3);
  } else if (is("wild")) {
    fill<<<1, 4>>>(data + (1l << 40), 3);
  } else if (is("shared")) {
    shared_overflow<<<1, 64, 64 * sizeof(int)>>>(data, 1);
  } else if (is("variable")) {
    variable_overflow<<<1, 11>>>(data);
  } else if (is("division")) {
    divide<<<1, 8>>>(data, 5);
  } else if (is("recursion")) {
    endless_recursion<<<2, 8>>>(data);
  }
  hipError_t status = hipDeviceSynchronize();
  std::printf("%s: %s\n", fault, hipGetErrorName(status));
  if (status == hipSuccess) {
    std::vector<int> got = to_host(data, 8);
    std::printf("data: %d %d %d %d %d %d %d %d\n", got[0], got[1], got[2], got[3], got[4], got[5], got[6], got[7]);
  }
  return 0;
}
