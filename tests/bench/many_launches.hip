// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LAUNCHES (default 5000) of three kernels on 1 MB of memory, no two alike: the subject of scripts/bench, section
// instances. Each launch changes a part of the memory, as most of an application do.

#include "../programs/check.h"

__global__ void scale(float* a, int first, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[first + i] = a[first + i] * factor + 1.0f;
}

__global__ void add(const float* a, const float* b, float* c, int first, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[first + i] = a[first + i] + b[first + i];
}

__global__ void smooth(const float* c, float* a, int first, int n) {
  __shared__ float part[258];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  part[t + 1] = c[first + i];
  if (t == 0) part[0] = part[257] = 0;
  __syncthreads();
  if (i < n) a[first + i] = 0.25f * part[t] + 0.5f * part[t + 1] + 0.25f * part[t + 2];
}

int main(int argc, char** argv) {
  Test test("many_launches");
  const int launches = argc > 1 ? std::atoi(argv[1]) : 5000;
  const int part = 4096, parts = (1 << 20) / 3 / sizeof(float) / part, n = parts * part;
  Random random(1);
  std::vector<float> values = random.values(n, -1.0f, 1.0f);
  float *a = to_device(values), *b = to_device(values), *c = device_array<float>(n);
  check(hipMemset(c, 0, n * sizeof(float)));
  for (int launch = 0; launch < launches; ++launch) {
    const int first = launch / 3 % parts * part;
    switch (launch % 3) {
      case 0:
        scale<<<part / 256, 256>>>(a, first, part, 0.5f + launch * 1e-5f);
        break;
      case 1:
        add<<<part / 256, 256>>>(a, b, c, first, part);
        break;
      case 2:
        smooth<<<part / 256, 256>>>(c, a, first, part);
        break;
    }
    check(hipGetLastError());
  }
  check(hipDeviceSynchronize());
  for (float* memory : {a, b, c}) check(hipFree(memory));
  return test.finish();
}
