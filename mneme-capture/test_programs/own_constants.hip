// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables in constant memory that are the unit's own, and that no code of the host speaks of: not constant for C++.
#include "../../tests/programs/check.h"

constexpr int kThreads = 64;

static __constant__ int table[4] = {3, 6, 9, 12};
static __constant__ int zeros[4];
namespace {
__constant__ const int* pointer = table + 1;
__device__ int counts[4];
}  // namespace

__global__ void look_up(int* out) {
  int i = threadIdx.x;
  if (i < 4) counts[i] += table[i];
  out[i] = table[i % 4] + zeros[i % 4] + pointer[i % 3];
}

int main() {
  Test test("own_constants");
  int* out = device_array<int>(kThreads);
  look_up<<<1, kThreads>>>(out);
  check(hipGetLastError());
  std::vector<int> found = to_host(out, kThreads);
  for (int i = 0; i < kThreads; ++i) test.expect(found[i] == 3 * (i % 4 + 1) + 3 * (i % 3 + 2), "a table is wrong");
  check(hipFree(out));
  return test.finish();
}
