// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel that reads far outside any allocation, in the second of its two launches.
//
//     wild_pointer [ELEMENTS]    how far outside (default 2^40 elements); 0: both launches are right

#include "../check.h"

__global__ void copy_from(const int* in, int* out, int n, long offset) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i + offset] + 1;
}

int main(int argc, char** argv) {
  Test test("wild_pointer");
  const long offset = argc > 1 ? std::atol(argv[1]) : 1l << 40;
  const int n = 10000;
  std::vector<int> in = Random(1).values(n, 1, 1000);
  std::vector<int> want = in;
  for (int& value : want) ++value;
  int* device_in = to_device(in);
  int* device_out = device_array<int>(n);
  for (long distance : {0l, offset}) {
    copy_from<<<blocks_for(n, 64), 64>>>(device_in, device_out, n, distance);
    check(hipGetLastError());
    check(hipDeviceSynchronize());
  }
  test.equal("out", to_host(device_out, n), want);
  test.expect(offset == 0, "reading far outside was no error");
  check(hipFree(device_in));
  check(hipFree(device_out));
  return test.finish();
}
