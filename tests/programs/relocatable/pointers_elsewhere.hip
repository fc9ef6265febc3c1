// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hip/hip_runtime.h>

#include <new>

#include "pointers.h"

namespace {

__device__ __constant__ const int kPrimes[] = {7, 11, 13};
__device__ int step(int x) { return x * x; }
struct Own : Shape {
  __device__ int area(int x) const override { return x + 7; }
};

__global__ void leave(Left* left) {
  left->own = step;
  left->shared = halve;
  left->imported = negate;
  left->text = "elsewhere";
  left->primes = &kPrimes[1];
  new (left->shape) Own;
}

}  // namespace

__device__ int negate(int x) { return -x; }

void leave_elsewhere(Left* left) { leave<<<1, 1>>>(left); }
