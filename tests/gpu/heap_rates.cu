// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How fast kernels allocate and free: from CUDA's heap, and from Mneme's, which takes its place in a recording. A line
// for each size of blocks: threads of a block, nanoseconds of either for an allocation with its release, and how many
// times as fast Mneme's is. Built by mneme-inject.
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                       \
  do {                                                                    \
    auto status = (call);                                                 \
    if (status != 0) {                                                    \
      std::fprintf(stderr, "line %d: error %d\n", __LINE__, int(status)); \
      std::exit(1);                                                       \
    }                                                                     \
  } while (0)

constexpr int kTurns = 8, kRounds = 5;
constexpr size_t kHeap = size_t{512} << 20;

// Pieces of several sizes, all of which a thread has at once.
__global__ void churn(unsigned* failed) {
  void* pieces[kTurns];
  for (int i = 0; i < kTurns; ++i) {
    pieces[i] = malloc(16 + 16 * ((threadIdx.x + i) % 8));
    if (pieces[i]) *static_cast<unsigned*>(pieces[i]) = threadIdx.x + i;
  }
  for (int i = 0; i < kTurns; ++i) {
    if (!pieces[i] || *static_cast<unsigned*>(pieces[i]) != threadIdx.x + i) atomicAdd(failed, 1);
    free(pieces[i]);
  }
}

// Median milliseconds of a launch.
float time_of(int blocks, int threads, unsigned* failed) {
  cudaEvent_t start, end;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&end));
  std::vector<float> times;
  for (int round = 0; round < kRounds; ++round) {
    float ms = 0;
    CHECK(cudaEventRecord(start));
    churn<<<blocks, threads>>>(failed);
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&ms, start, end));
    times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  return times[kRounds / 2];
}

template <class Function>
Function driver(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result;
  CHECK(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &result));
  return reinterpret_cast<Function>(function);
}

// As mneme-capture does it (lib/objects/device_heap.h).
void give_heap() {
  cudaFunction_t function;
  CHECK(cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(&churn)));
  CUmodule module;
  CHECK(driver<CUresult (*)(CUmodule*, CUfunction)>("cuFuncGetModule")(&module, function));
  CUdeviceptr variable = 0;
  size_t size = 0;
  CHECK(driver<CUresult (*)(CUdeviceptr*, size_t*, CUmodule, const char*)>("cuModuleGetGlobal")(
      &variable, &size, module, "__mneme_heap"));
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, kHeap));
  CHECK(cudaMemset(memory, 0, kHeap));
  const uint64_t heap[] = {reinterpret_cast<uint64_t>(memory), kHeap};
  CHECK(size != sizeof heap);
  CHECK(cudaMemcpy(reinterpret_cast<void*>(variable), heap, sizeof heap, cudaMemcpyHostToDevice));
}

int main() {
  struct {
    int blocks, threads;
    float vendor;
  } shapes[] = {{4096, 1, 0}, {1024, 32, 0}, {256, 1024, 0}};
  CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, kHeap));
  unsigned* failed = nullptr;
  CHECK(cudaMallocManaged(&failed, sizeof *failed));
  *failed = 0;
  for (auto& shape : shapes) shape.vendor = time_of(shape.blocks, shape.threads, failed);
  give_heap();
  std::puts("threads  CUDA's, ns  Mneme's, ns  times as fast");
  for (const auto& shape : shapes) {
    const float own = time_of(shape.blocks, shape.threads, failed);
    const float pairs = float(shape.blocks) * shape.threads * kTurns / 1e6f;
    std::printf("%7d  %10.2f  %11.2f  %13.2f\n", shape.threads, shape.vendor / pairs, own / pairs, shape.vendor / own);
  }
  return *failed != 0;
}
