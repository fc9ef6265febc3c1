// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device variables that lead to each other in a circle, or to themselves, which kernels follow and turn round. (CUDA's
// compilers cannot initialise such ones.)

#include "check.h"

struct Ring {
  const Ring* next;
  int number;
};
extern __device__ Ring ring[3];
__device__ Ring ring[3] = {{&ring[1], 10}, {&ring[2], 20}, {&ring[0], 30}};

extern __device__ Ring there;
__device__ Ring here = {&there, 1};
__device__ Ring there = {&here, 2};
__device__ Ring self = {&self, 7};

// Five numbers, from some places on.
__global__ void follow(int* out) {
  const Ring* starts[] = {ring, ring + 1, &here, &there, &self};
  for (const Ring* at : starts) {
    for (int i = 0; i < 5; ++i, at = at->next) *out++ = at->number;
  }
}

__global__ void turn_round() {
  for (int i = 0; i < 3; ++i) ring[i].next = &ring[(i + 2) % 3];
  self.next = &here;
  self.number += 1;
}

int main() {
  Test test("variable_ring");
  int* out = device_array<int>(25);
  follow<<<1, 1>>>(out);
  check(hipGetLastError());
  test.equal("as they begin", to_host(out, 25),
             {10, 20, 30, 10, 20, 20, 30, 10, 20, 30, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 7, 7, 7, 7, 7});
  turn_round<<<1, 1>>>();
  follow<<<1, 1>>>(out);
  check(hipGetLastError());
  test.equal("turned round", to_host(out, 25),
             {10, 30, 20, 10, 30, 20, 10, 30, 20, 10, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 8, 1, 2, 1, 2});
  check(hipFree(out));
  return test.finish();
}
