// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the tests of bad input and of tampering record: small, but with several blocks of memory, two kernels and four
// launches that differ.

#include <hip/hip_runtime.h>

#include <cstdio>
#include <vector>

__global__ void add(float* data, float amount, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[i] + amount;
}

__global__ void scale(const float* in, float* out, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * factor;
}

int main() {
  const int n = 50000;
  std::vector<float> values(n);
  for (int i = 0; i < n; ++i) values[i] = static_cast<float>((i * 2654435761u >> 8) % 65536) / 64.0f;
  float *in = nullptr, *out = nullptr;
  if (hipMalloc(&in, n * sizeof(float)) != hipSuccess || hipMalloc(&out, n * sizeof(float)) != hipSuccess) return 1;
  if (hipMemcpy(in, values.data(), n * sizeof(float), hipMemcpyHostToDevice) != hipSuccess) return 1;
  if (hipMemset(out, 0, n * sizeof(float)) != hipSuccess) return 1;
  const int blocks = (n + 127) / 128;
  add<<<blocks, 128>>>(in, 0.5f, n);
  scale<<<blocks, 128>>>(in, out, 3.0f, n);
  add<<<blocks, 128>>>(out, 1.25f, n);
  scale<<<blocks, 128>>>(out, in, 0.25f, n);
  std::vector<float> result(n);
  if (hipMemcpy(result.data(), in, n * sizeof(float), hipMemcpyDeviceToHost) != hipSuccess) return 1;
  for (int i = 0; i < n; ++i)
    if (result[i] != ((values[i] + 0.5f) * 3.0f + 1.25f) * 0.25f) return 1;
  std::puts("small: ok");
  return 0;
}
