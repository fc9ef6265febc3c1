// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel whose assert() holds in the first launch and not in the second.

#undef NDEBUG
#include <cassert>

#include "../check.h"

__global__ void scale(int* data, int n, int limit) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  assert(data[i] < limit);
  data[i] *= 2;
}

int main() {
  Test test("assertion");
  const int n = 5000;
  int* data = to_device(Random(1).values(n, 1, 1000));
  for (int limit : {1001, 1500}) {  // doubled by the first launch, a quarter of the values exceed 1500
    scale<<<blocks_for(n, 64), 64>>>(data, n, limit);
    check(hipGetLastError());
    check(hipDeviceSynchronize());
  }
  test.expect(false, "the assertion did not fail");
  return test.finish();
}
