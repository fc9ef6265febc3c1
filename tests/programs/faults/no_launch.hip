// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An application that contains a kernel and uses device memory, but never launches the kernel.

#include "../check.h"

__global__ void increment(int* data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) ++data[i];
}

int main(int argc, char**) {
  Test test("no_launch");
  std::vector<int> values = Random(1).values(1000, 1, 1000);
  int* data = to_device(values);
  if (argc > 100) increment<<<1, 1>>>(data, 1);  // never, but the compiler cannot know
  test.equal("data", to_host(data, values.size()), values);
  check(hipFree(data));
  return test.finish();
}
