// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Three launches of one kernel that uses dynamic shared memory and a variable, for damaged.py. What is defined makes
// the kernel another: FAULTS, HANGS, WRONG.
#include <cstdio>
#include <vector>

__device__ int factor = 3;

__global__ void staged(int* out, const int* in, int count) {
  extern __shared__ int values[];
  int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
#if defined(FAULTS)
  in += 1ll << 44;
#elif defined(HANGS)
  while (*static_cast<volatile int*>(&factor) != 0) {
  }
#elif defined(WRONG)
  if (i == 77) i++;
#endif
  values[threadIdx.x] = i < count ? factor * in[i] : 0;
  __syncthreads();
  if (i < count) out[i] = values[threadIdx.x] + values[threadIdx.x ^ 1];
}

int main() {
  bool ok = true;
  for (int count : {1000, 20000, 300000}) {
    std::vector<int> values(count);
    for (int i = 0; i < count; ++i) values[i] = i * 7 % 1013;
    size_t bytes = count * sizeof(int);
    int *out = nullptr, *in = nullptr;
    ok = ok && cudaMalloc(&out, bytes) == cudaSuccess && cudaMalloc(&in, bytes) == cudaSuccess &&
         cudaMemset(out, 0, bytes) == cudaSuccess &&
         cudaMemcpy(in, values.data(), bytes, cudaMemcpyHostToDevice) == cudaSuccess;
    staged<<<(count + 255) / 256, 256, 1024>>>(out, in, count);
    ok = ok && cudaDeviceSynchronize() == cudaSuccess;
  }
  std::puts(ok ? "staged: ok" : "staged: FAILED");
  return ok ? 0 : 1;
}
