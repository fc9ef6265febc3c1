// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that are compiled wrongly: `blend` by the plugin beside this file, `share` by LLVM 19's loop vectoriser,
// which divides for an address only if the first of the threads that it puts side by side meets the
// condition.

#include <hip/hip_runtime.h>

#include <vector>

__global__ void blend(const float* a, const float* b, float* out, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int k = 0; k < 4; ++k) sum += a[min(i + k, n - 1)] + b[min(i + 3 * k, n - 1)];
  out[i] = (a[i] - b[i]) * factor + sum;
}

__global__ void share(const int* active, const int* table, int* out, unsigned total, unsigned parts, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = active[i] ? table[total / (parts | 1) % 16384] : 7;
}

int main() {
  const int n = 50000;
  std::vector<float> values(2 * n);
  std::vector<int> active(n);
  for (int i = 0; i < 2 * n; ++i) values[i] = static_cast<float>(i * 2654435761u % 65536) / 64.0f;
  for (int i = 0; i < n; ++i) active[i] = i % 3 == 1 ? i : 0;
  float *a = nullptr, *out = nullptr;
  int *flags = nullptr, *shares = nullptr;
  if (hipMalloc(&a, 2 * n * sizeof *a) || hipMalloc(&out, n * sizeof *out)) return 1;
  if (hipMalloc(&flags, n * sizeof *flags) || hipMalloc(&shares, 2 * n * sizeof *shares)) return 1;
  if (hipMemcpy(a, values.data(), 2 * n * sizeof *a, hipMemcpyHostToDevice)) return 1;
  if (hipMemcpy(flags, active.data(), n * sizeof *flags, hipMemcpyHostToDevice)) return 1;
  if (hipMemset(out, 0, n * sizeof *out) || hipMemset(shares, 0, 2 * n * sizeof *shares)) return 1;
  blend<<<(n + 127) / 128, 128>>>(a, a + n, out, 1.5f, n);
  share<<<(n + 127) / 128, 128>>>(flags, flags, shares, 70000, 7, n);
  return hipDeviceSynchronize();
}
