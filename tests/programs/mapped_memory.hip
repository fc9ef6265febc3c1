// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Host memory that a kernel reads and writes in place: allocated for it (pinned and mapped), and ordinary memory
// registered afterwards.

#include <sys/mman.h>

#include "check.h"

__global__ void accumulate(const int* in, int* totals, int n, int factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) totals[i] += factor * in[i];
}

template <class T>
T* on_device(T* host) {
  void* device = nullptr;
  check(hipHostGetDevicePointer(&device, host, 0));
  return static_cast<T*>(device);
}

int main() {
  Test test("mapped_memory");
  const int n = 50000;
  const std::size_t bytes = n * sizeof(int);
  Random random(1);

  void* memory = nullptr;
  check(hipHostMalloc(&memory, bytes, hipHostMallocMapped));
  int* in = static_cast<int*>(memory);
  memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  test.expect(memory != MAP_FAILED, "no memory");
  int* totals = static_cast<int*>(memory);
  check(hipHostRegister(totals, bytes, hipHostRegisterMapped));

  std::vector<int> want(n);
  for (int i = 0; i < n; ++i) want[i] = totals[i] = random.between(1, 1000);
  for (int factor : {3, -2}) {
    for (int i = 0; i < n; ++i) {
      in[i] = random.between(1, 1000);
      want[i] += factor * in[i];
    }
    accumulate<<<blocks_for(n, 256), 256>>>(on_device(in), on_device(totals), n, factor);
    check(hipGetLastError());
    check(hipDeviceSynchronize());  // no copy waits for the kernel: the host looks at the memory itself
  }
  test.equal("totals", std::vector<int>(totals, totals + n), want);
  check(hipHostUnregister(totals));
  munmap(totals, bytes);
  check(hipHostFree(in));
  return test.finish();
}
