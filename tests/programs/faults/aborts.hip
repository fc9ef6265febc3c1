// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An application that aborts, on the host, after one good launch.

#include "../check.h"

__global__ void square(unsigned* data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= data[i];
}

int main() {
  Test test("aborts");
  std::vector<unsigned> want = Random(1).values(20000, 2u, 1000u);
  unsigned* data = to_device(want);
  square<<<blocks_for(want.size(), 128), 128>>>(data, static_cast<int>(want.size()));
  check(hipGetLastError());
  for (unsigned& value : want) value *= value;
  test.equal("data", to_host(data, want.size()), want);
  test.finish();
  std::fflush(stdout);
  std::abort();
}
