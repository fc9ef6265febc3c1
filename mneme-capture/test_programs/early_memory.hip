// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that has its memory before any code is registered: a constructor of an object allocates and registers it.
// Start-up code of clang's registers kernels after those.
#include <array>

#include "../../tests/programs/check.h"

constexpr unsigned kThreads = 64;

struct Buffers {
  int* device = device_array<int>(kThreads);
  int* ordered = nullptr;  // by a stream
  int* pinned = nullptr;
  int* managed = nullptr;
  std::array<int, 4096> registered{};

  Buffers() {
    check(hipMallocAsync(reinterpret_cast<void**>(&ordered), kThreads * sizeof(int), nullptr));
    check(hipHostMalloc(reinterpret_cast<void**>(&pinned), kThreads * sizeof(int), hipHostMallocMapped));
    check(hipMallocManaged(reinterpret_cast<void**>(&managed), kThreads * sizeof(int)));
    check(hipHostRegister(registered.data(), sizeof registered, hipHostRegisterMapped));
    check(hipMemset(device, 0, kThreads * sizeof(int)));
    check(hipMemset(ordered, 0, kThreads * sizeof(int)));
    for (unsigned i = 0; i < kThreads; ++i) pinned[i] = managed[i] = registered[i] = static_cast<int>(i);
  }
};

Buffers buffers;

__global__ void add(int* device, int* ordered, const int* pinned, int* managed, int* registered) {
  unsigned i = threadIdx.x;
  device[i] += 3 * pinned[i];
  ordered[i] -= managed[i];
  managed[i] += 1;
  registered[i] += 2;
}

int main() {
  Test test("early_memory");
  add<<<1, kThreads>>>(buffers.device, buffers.ordered, buffers.pinned, buffers.managed, buffers.registered.data());
  check(hipDeviceSynchronize());
  std::vector<int> device = to_host(buffers.device, kThreads), ordered = to_host(buffers.ordered, kThreads);
  for (unsigned i = 0; i < kThreads; ++i) {
    int n = static_cast<int>(i);
    test.equal("device", device[i], 3 * n);
    test.equal("ordered", ordered[i], -n);
    test.equal("managed", buffers.managed[i], n + 1);
    test.equal("registered", buffers.registered[i], n + 2);
  }
  for (int* memory : {buffers.device, buffers.ordered, buffers.managed}) check(hipFree(memory));
  check(hipHostFree(buffers.pinned));
  check(hipHostUnregister(buffers.registered.data()));
  return test.finish();
}
