// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Relocatable device code: addresses of functions, tables of virtual functions, texts and constants of two units in
// memory, which a kernel follows. What the units have to themselves has the same names in both.
#include "pointers.h"

#include <hip/hip_runtime.h>

#include <cstdio>
#include <new>

__device__ int counted = 0;

namespace {

__device__ __constant__ const int kPrimes[] = {2, 3, 5};
__device__ int step(int x) { return x + 1; }
struct Own : Shape {
  __device__ int area(int x) const override { return 10 * x; }
};

__global__ void leave(Left* left) {
  left->own = step;
  left->shared = halve;
  left->imported = negate;
  left->text = "main";
  left->primes = &kPrimes[1];
  new (left->shape) Own;
}

}  // namespace

__global__ void follow(const Left* left, int* out) {
  const int i = threadIdx.x;
  const Left& of = left[i % 2];
  int sum = of.own(i) + 100 * of.shared(i) + 10000 * of.imported(i) + *of.primes;
  for (const char* at = of.text; *at; ++at) sum = sum * 3 + *at;
  sum += reinterpret_cast<const Shape*>(of.shape)->area(i);
  out[i] = sum;
  atomicAdd(&counted, 1);
}

int expected(int i) {
  const bool elsewhere = i % 2 == 1;
  int sum = (elsewhere ? i * i : i + 1) + 100 * (i / 2) - 10000 * i + (elsewhere ? 11 : 3);
  for (const char* at = elsewhere ? "elsewhere" : "main"; *at; ++at) sum = sum * 3 + *at;
  return sum + (elsewhere ? 7 + i : 10 * i);
}

int main() {
  constexpr int kCount = 64;
  Left* left = nullptr;
  int *data = nullptr, host[kCount];
  bool ok = hipMalloc(&left, 2 * sizeof(Left)) == hipSuccess && hipMalloc(&data, sizeof host) == hipSuccess;
  ok &= hipMemset(left, 0, 2 * sizeof(Left)) == hipSuccess && hipMemset(data, 0, sizeof host) == hipSuccess;
  leave<<<1, 1>>>(left);
  leave_elsewhere(left + 1);
  follow<<<1, kCount>>>(left, data);
  ok &= hipMemcpy(host, data, sizeof host, hipMemcpyDeviceToHost) == hipSuccess;
  for (int i = 0; i < kCount; ++i) ok &= host[i] == expected(i);
  int count = 0;
  ok &= hipMemcpyFromSymbol(&count, HIP_SYMBOL(counted), sizeof count) == hipSuccess && count == kCount;
  ok &= hipFree(left) == hipSuccess && hipFree(data) == hipSuccess;
  std::puts(ok ? "relocatable_pointers: ok" : "relocatable_pointers: FAILED");
  return ok ? 0 : 1;
}
