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

// What kernels allocate, for others to use.
__device__ long *piece, *behind;
__global__ void allocate(int n) {
  piece = static_cast<long*>(malloc(n * sizeof(long)));
  behind = static_cast<long*>(malloc(n * sizeof(long)));
  for (int i = 0; i < n; ++i) piece[i] = behind[i] = i;
}
__global__ void release() { free(piece); }
__global__ void use(int* data, long i) { data[threadIdx.x] = static_cast<int>(piece[i + threadIdx.x]); }
__global__ void use_at(int* data, const long* place) { data[threadIdx.x] = static_cast<int>(*place); }
__global__ void release_and_use(int* data) {
  __shared__ long* mine;
  if (threadIdx.x == 0) mine = new long[3]();
  __syncthreads();
  data[threadIdx.x] = static_cast<int>(mine[threadIdx.x % 3]);
  __syncthreads();
  if (threadIdx.x == 5) delete[] mine;
  __syncthreads();
  data[threadIdx.x] = static_cast<int>(mine[threadIdx.x % 3]);
}

// Each with memory of its own, of which it uses all: 100,000 pieces.
__global__ void allocate_many(char** pieces) {
  int id = blockIdx.x * blockDim.x + threadIdx.x, size = id % 47;
  pieces[id] = static_cast<char*>(malloc(size));
  for (int i = 0; i < size; ++i) pieces[id][i] = static_cast<char>(id + i);
}
__global__ void use_many(char** pieces, int* data) {
  int id = blockIdx.x * blockDim.x + threadIdx.x, size = id % 47;
  char copy[47] = {};
  memcpy(copy, pieces[id], size);
  bool same = true;
  for (int i = 0; i < size; ++i) same &= copy[i] == static_cast<char>(id + i);
  if (same) atomicAdd(&data[0], 1);
  if (size >= 4) atomicAdd(reinterpret_cast<int*>(pieces[id] + size / 4 * 4) - 1, 1);
  free(pieces[id]);
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
  } else if (is("many_pieces")) {
    char** pieces = device_array<char*>(100000);
    check(hipMemset(data, 0, sizeof(int)));
    allocate_many<<<1000, 100>>>(pieces);
    use_many<<<1000, 100>>>(pieces, data);
  } else if (is("piece_after_delete")) {
    release_and_use<<<1, 8>>>(data);
  } else if (std::strncmp(fault, "piece", 5) == 0) {
    allocate<<<1, 1>>>(5);
    if (is("piece")) use<<<1, 5>>>(data, 0);
    if (is("piece_overflow")) use<<<1, 8>>>(data, 0);
    if (is("piece_underflow")) use<<<1, 1>>>(data, -1);
    if (is("piece_far")) use<<<1, 1>>>(data, 100000);
    if (is("piece_after_free")) {
      release<<<1, 1>>>();
      use<<<1, 1>>>(data, 2);
    }
    if (is("piece_nowhere")) {
      const long* place = nullptr;
      check(hipMemcpyFromSymbol(&place, HIP_SYMBOL(piece), sizeof place));
      use_at<<<1, 1>>>(data, place + (1 << 18));
    }
  }
  hipError_t status = hipDeviceSynchronize();
  std::printf("%s: %s\n", fault, hipGetErrorName(status));
  if (status == hipSuccess) {
    std::vector<int> got = to_host(data, 8);
    std::printf("data: %d %d %d %d %d %d %d %d\n", got[0], got[1], got[2], got[3], got[4], got[5], got[6], got[7]);
  }
  void* more = nullptr;
  std::printf("memory: %s\n", hipGetErrorName(hipMalloc(&more, 4096)));
  return 0;
}
