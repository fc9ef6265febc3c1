// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches that say more than dimensions: cooperative ones, whose blocks wait for each other, ones in clusters, and one
// that may begin before the launch ahead of it has ended.
#include "cuda.h"

__device__ unsigned arrivals;

// As in the toolkit's cooperative_groups.h, but for the word, which there is one of the driver's. The first block to
// come and the last one together change the word's highest bit.
namespace cooperative_groups {
inline namespace __v1 {
namespace details {
__device__ __attribute__((noinline)) static unsigned sync_grids_arrive(volatile unsigned* word) {
  unsigned old = 0;
#ifdef __CUDA_ARCH__
  __syncthreads();
  if (THREAD(x) == 0) {
    int step = BLOCK(x) == 0 ? static_cast<int>(0x80000000u - (BLOCKS(x) - 1)) : 1;
    __nvvm_membar_gl();
    old = static_cast<unsigned>(__nvvm_atom_add_gen_i(reinterpret_cast<volatile int*>(word), step));
  }
#endif
  return old;
}
__device__ __attribute__((noinline)) static void sync_grids_wait(unsigned old, volatile unsigned* word) {
#ifdef __CUDA_ARCH__
  if (THREAD(x) == 0) {
    while (((old ^ *word) & 0x80000000u) == 0) {
    }
    __nvvm_membar_gl();
  }
  __syncthreads();
#endif
}
}  // namespace details
}  // namespace __v1
}  // namespace cooperative_groups

__device__ void sync_grid() {
  using namespace cooperative_groups::details;
  sync_grids_wait(sync_grids_arrive(&arrivals), &arrivals);
}

constexpr unsigned kBlocks = 4, kThreads = 32, kCount = kBlocks * kThreads;

// Each work-item reads what one of another block wrote.
__global__ void reverse(int* data, int* room) {
  unsigned i = index();
  room[i] = 2 * data[i];
  sync_grid();
  data[i] = room[kCount - 1 - i];
}

__global__ void add(int* data, int value) { data[index()] += value; }

void check(const int* data, int factor, int offset, bool reversed) {
  int host[kCount];
  CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost) == 0);
  for (unsigned i = 0; i < kCount; ++i) {
    CHECK(host[i] == factor * static_cast<int>(reversed ? kCount - 1 - i : i) + offset);
  }
}

int main() {
  void *data = nullptr, *room = nullptr;
  int host[kCount];
  for (unsigned i = 0; i < kCount; ++i) host[i] = static_cast<int>(i);
  CHECK(cudaMalloc(&data, sizeof host) == 0 && cudaMalloc(&room, sizeof host) == 0);
  CHECK(cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice) == 0);
  auto* ints = static_cast<int*>(data);

  void* two[] = {&data, &room};
  CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(reverse), kBlocks, kThreads, two, 0, nullptr) == 0);
  check(ints, 2, 0, true);
  LaunchAttribute attributes[] = {{kCooperative, 0, {1}}, {kClusterDimension, 0, {1, 1, 1}}};
  LaunchConfig config{kBlocks, kThreads, 0, nullptr, attributes, 2};
  CHECK(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(reverse), two) == 0);
  check(ints, 4, 0, false);

  int value = 5;
  void* value_too[] = {&data, &value};
  LaunchAttribute clusters{kClusterDimension, 0, {2, 1, 1}};
  config.attributes = &clusters;
  config.count = 1;
  CHECK(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(add), value_too) == 0);
  check(ints, 4, 5, false);
  LaunchAttribute early[] = {{kStreamSerialization, 0, {1}}, {kPriority, 0, {~0u}}};
  config.attributes = early;
  config.count = 2;
  CHECK(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(add), value_too) == 0);
  check(ints, 4, 10, false);
  CHECK(cudaFree(data) == 0 && cudaFree(room) == 0);
  std::puts("launches: ok");
}
