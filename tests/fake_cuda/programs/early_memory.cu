// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program that has its memory before any code is registered, as objects have whose constructors allocate it: each
// kind once, the one whose number is the argument before the others. Start-up code registers kernels after that.
#include <array>
#include <vector>

#include "cuda.h"

constexpr unsigned kThreads = 64;
constexpr int kMapped = 2;

extern "C" {
int cudaDeviceGetDefaultMemPool(void**, int);
int cudaMallocFromPoolAsync(void**, size_t, void*, cudaStream_t);
int cudaMallocPitch(void**, size_t*, size_t, size_t);
int cudaHostAlloc(void**, size_t, unsigned);
int cudaHostRegister(void*, size_t, unsigned);
int cudaHostUnregister(void*);
}

struct Buffers {
  enum { kDevice, kPitched, kOrdered, kPooled, kManaged, kPinned, kMappedHost, kRegistered, kKinds };
  std::array<int*, kKinds> of{};
  std::array<int, 4096> registered{};

  void allocate(int kind) {
    size_t size = kThreads * sizeof(int), pitch = 0;
    void *memory = nullptr, *pool = nullptr;
    switch (kind) {
      case kDevice:
        CHECK(cudaMalloc(&memory, size) == 0);
        break;
      case kPitched:
        CHECK(cudaMallocPitch(&memory, &pitch, size, 1) == 0);
        break;
      case kOrdered:
        CHECK(cudaMallocAsync(&memory, size, nullptr) == 0);
        break;
      case kPooled:
        CHECK(cudaDeviceGetDefaultMemPool(&pool, 0) == 0);
        CHECK(cudaMallocFromPoolAsync(&memory, size, pool, nullptr) == 0);
        break;
      case kManaged:
        CHECK(cudaMallocManaged(&memory, size) == 0);
        break;
      case kPinned:
        CHECK(cudaMallocHost(&memory, size) == 0);
        break;
      case kMappedHost:
        CHECK(cudaHostAlloc(&memory, size, kMapped) == 0);
        break;
      default:
        CHECK(cudaHostRegister(registered.data(), sizeof registered, kMapped) == 0);
        memory = registered.data();
    }
    of[kind] = static_cast<int*>(memory);
    if (kind < kManaged) {
      CHECK(cudaMemset(memory, 0, size) == 0);
    } else {
      for (unsigned i = 0; i < kThreads; ++i) of[kind][i] = static_cast<int>(i);
    }
  }
};

constinit Buffers buffers;

[[gnu::constructor(1000)]] void allocate_early(int, char** arguments) {
  for (int i = 0; i < Buffers::kKinds; ++i) buffers.allocate((std::atoi(arguments[1]) + i) % Buffers::kKinds);
}

__global__ void add(int* device, int* pitched, int* ordered, int* pooled, int* managed, int* pinned, int* mapped,
                    int* registered) {
  unsigned i = THREAD(x);
  device[i] += 3 * pinned[i];
  pitched[i] += 5 * mapped[i];
  ordered[i] -= managed[i];
  pooled[i] -= 2 * registered[i];
  managed[i] += 1;
  pinned[i] += 2;
  mapped[i] += 3;
  registered[i] += 4;
}

int main() {
  using B = Buffers;
  auto& of = buffers.of;
  add<<<1, kThreads>>>(of[0], of[1], of[2], of[3], of[4], of[5], of[6], of[7]);
  CHECK(cudaDeviceSynchronize() == 0);
  const int factors[] = {3, 5, -1, -2}, more[] = {1, 2, 3, 4};
  for (int kind = 0; kind < B::kManaged; ++kind) {
    std::vector<int> result(kThreads);
    CHECK(cudaMemcpy(result.data(), of[kind], kThreads * sizeof(int), cudaMemcpyDeviceToHost) == 0);
    for (unsigned i = 0; i < kThreads; ++i) {
      CHECK(result[i] == factors[kind] * static_cast<int>(i));
      CHECK(of[B::kManaged + kind][i] == static_cast<int>(i) + more[kind]);
    }
  }
  for (int kind = 0; kind <= B::kManaged; ++kind) CHECK(cudaFree(of[kind]) == 0);
  CHECK(cudaFreeHost(of[B::kPinned]) == 0 && cudaFreeHost(of[B::kMappedHost]) == 0);
  CHECK(cudaHostUnregister(buffers.registered.data()) == 0);
  std::puts("early_memory: ok");
}
