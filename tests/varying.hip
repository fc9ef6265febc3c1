// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Results that are never the same twice: each element by a hash of the clock, up to 15 parts in 2^20. What sums of
// floating-point atomics do on a GPU, this does everywhere.
#include <hip/hip_runtime.h>

#include <cmath>
#include <vector>

constexpr int kElements = 256;

__global__ void vary(const float* in, float* noisy, int* exact, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned time = (static_cast<unsigned>(clock64()) ^ i) * 2654435761u;
  noisy[i] = in[i] * (1.0f + static_cast<float>(time >> 28) * 0x1p-20f);
  exact[i] = 3 * i + 1;
}

int main() {
  std::vector<float> in(kElements), out(kElements);
  for (int i = 0; i < kElements; i++) in[i] = 1.5f + static_cast<float>(i);
  float *from = nullptr, *noisy = nullptr;
  int* exact = nullptr;
  if (hipMalloc(reinterpret_cast<void**>(&from), kElements * sizeof(float)) != hipSuccess) return 1;
  if (hipMalloc(reinterpret_cast<void**>(&noisy), kElements * sizeof(float)) != hipSuccess) return 1;
  if (hipMalloc(reinterpret_cast<void**>(&exact), kElements * sizeof(int)) != hipSuccess) return 1;
  if (hipMemcpy(from, in.data(), kElements * sizeof(float), hipMemcpyHostToDevice) != hipSuccess) return 1;
  for (int n : {kElements, kElements / 2}) {
    if (hipMemset(noisy, 0, kElements * sizeof(float)) != hipSuccess) return 1;
    if (hipMemset(exact, 0, kElements * sizeof(int)) != hipSuccess) return 1;
    vary<<<4, 64>>>(from, noisy, exact, n);
    if (hipMemcpy(out.data(), noisy, kElements * sizeof(float), hipMemcpyDeviceToHost) != hipSuccess) return 1;
    for (int i = 0; i < n; i++) {
      if (std::fabs(out[i] / in[i] - 1) > 0x1p-16f) return 1;
    }
  }
  return 0;
}
