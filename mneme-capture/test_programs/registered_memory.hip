// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ordinary memory, registered: several blocks of it, of which kernels and the application change a little between
// launches, in blocks of their own and in the same ones.
#include <sys/mman.h>

#include "../../tests/programs/check.h"

__global__ void add(int* data, int first, int count, int what) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[first + i] += what;
}

int main() {
  Test test("registered_memory");
  const int n = 1 << 20;
  // Not at the beginning of a block, and one page is left out of use.
  void* memory = mmap(nullptr, n * sizeof(int) + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  test.expect(memory != MAP_FAILED, "no memory");
  int* data = static_cast<int*>(memory) + 1024;
  check(hipHostRegister(data, n * sizeof(int), hipHostRegisterMapped));
  std::vector<int> want(n);
  for (int i = 0; i < n / 2; ++i) want[i] = data[i] = 7 * i;
  for (int round = 1; round <= 4; ++round) {
    const int first = round * 100000, count = 1000;
    add<<<blocks_for(count, 256), 256>>>(data, first, count, round);
    check(hipDeviceSynchronize());
    for (int i = first; i < first + count; ++i) want[i] += round;
    for (int i : {5 * round, first + 3, n - round}) want[i] = data[i] = data[i] - 1;
  }
  test.equal("data", std::vector<int>(data, data + n), want);
  check(hipHostUnregister(data));
  return test.finish();
}
