// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A private array indexed by values that only the run knows: every thread sorts numbers of its own, then follows a
// chain of indices through them.

#include <algorithm>

#include "check.h"

constexpr int kEach = 24;

__global__ void sort_each(int* data, int* ends, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int mine[kEach];
  for (int k = 0; k < kEach; ++k) {  // insertion sort
    int value = data[i * kEach + k];
    int place = k;
    for (; place > 0 && mine[place - 1] > value; --place) mine[place] = mine[place - 1];
    mine[place] = value;
  }
  int place = 0;
  for (int k = 0; k < kEach; ++k) place = (mine[place] + k) % kEach;
  for (int k = 0; k < kEach; ++k) data[i * kEach + k] = mine[k];
  ends[i] = mine[place];
}

int main() {
  Test test("local_array");
  const int n = 1500;
  std::vector<int> data = Random(1).values(n * kEach, 1, 10000);
  int* device_data = to_device(data);
  int* device_ends = device_array<int>(n);
  std::vector<int> ends(n);
  for (int i = 0; i < n; ++i) {
    int* mine = &data[i * kEach];
    std::sort(mine, mine + kEach);
    int place = 0;
    for (int k = 0; k < kEach; ++k) place = (mine[place] + k) % kEach;
    ends[i] = mine[place];
  }

  sort_each<<<blocks_for(n, 64), 64>>>(device_data, device_ends, n);
  check(hipGetLastError());

  test.equal("data", to_host(device_data, data.size()), data);
  test.equal("ends", to_host(device_ends, n), ends);
  check(hipFree(device_data));
  check(hipFree(device_ends));
  return test.finish();
}
