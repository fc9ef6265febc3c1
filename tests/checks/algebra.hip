// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels whose results depend on the order of operations, for tests of `algebra`.
#include <hip/hip_runtime.h>

#include <cstdio>

constexpr int kCount = 2048, kBlocks = 4, kThreads = 64;

// A sum by a tree, with a division by a constant, an update and mathematical functions.
__global__ void weighted(const float* x, const float* w, float* out, double* total, int n, float scale) {
  __shared__ float part[kThreads];
  const int t = threadIdx.x;
  float sum = 0;
  for (int k = blockIdx.x * blockDim.x + t; k < n; k += gridDim.x * blockDim.x) sum += x[k] * w[k] * 0.5f;
  part[t] = sum / 3.0f;
  __syncthreads();
  for (int o = kThreads / 2; o > 0; o /= 2) {
    if (t < o) part[t] += part[t + o];
    __syncthreads();
  }
  if (t == 0) {
    out[blockIdx.x] = part[0] * scale + sinf(part[0]);
    atomicAdd(total, static_cast<double>(part[0]));
  }
}

// Softmax of the rows of a matrix.
__global__ void softmax(const float* x, float* out, int n) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  float most = x[row * n], sum = 0;
  for (int k = 1; k < n; ++k) most = fmaxf(most, x[row * n + k]);
  for (int k = 0; k < n; ++k) sum += expf(x[row * n + k] - most);
  for (int k = 0; k < n; ++k) out[row * n + k] = expf(x[row * n + k] - most) / sum;
}

// One sum a thread, in a loop that vectorises only where sums may be reordered.
__global__ void sums(const float* x, float* out, int n) {
  float sum = 0, squares = 0;
  for (int k = 0; k < n; ++k) {
    sum += x[k];
    squares += x[k] * x[k];
  }
  out[threadIdx.x] = sqrtf(fabsf(squares / n - sum * sum / (n * n))) + static_cast<float>(threadIdx.x);
}

// The address of an access is a number's.
__global__ void histogram(const float* x, int* out) {
  atomicAdd(&out[static_cast<int>(fabsf(x[threadIdx.x])) & 15], 1);
}

// Numbers end the loop.
__global__ void halved(const float* x, float* out) {
  float value = x[threadIdx.x];
  while (value > 1) value *= 0.5f;
  out[threadIdx.x] = value;
}

bool failed(hipError_t error) { return error != hipSuccess; }

int main() {
  static float x[kCount], w[kCount];
  for (int i = 0; i < kCount; ++i) {
    x[i] = 0.37f * static_cast<float>(i % 97) - 7;
    w[i] = 1 / static_cast<float>(i + 1);
  }
  float *dx, *dw, *out;
  double* total;
  if (failed(hipMalloc(reinterpret_cast<void**>(&dx), sizeof x)) ||
      failed(hipMalloc(reinterpret_cast<void**>(&dw), sizeof w)) ||
      failed(hipMalloc(reinterpret_cast<void**>(&out), sizeof x)) ||
      failed(hipMalloc(reinterpret_cast<void**>(&total), sizeof(double)))) {
    return 1;
  }
  if (failed(hipMemcpy(dx, x, sizeof x, hipMemcpyHostToDevice)) ||
      failed(hipMemcpy(dw, w, sizeof w, hipMemcpyHostToDevice)) || failed(hipMemset(out, 0, sizeof x)) ||
      failed(hipMemset(total, 0, sizeof(double)))) {
    return 1;
  }
  weighted<<<kBlocks, kThreads>>>(dx, dw, out, total, kCount, 0.1f);
  softmax<<<1, 32>>>(dx, out, kCount / 32);
  sums<<<1, 8>>>(dx, out, kCount);
  histogram<<<1, 32>>>(dx, reinterpret_cast<int*>(out));
  halved<<<1, 32>>>(dx, out);
  if (failed(hipDeviceSynchronize())) return 1;
  std::puts("algebra: ok");
  return 0;
}
