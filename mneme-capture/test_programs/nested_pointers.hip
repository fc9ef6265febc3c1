// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel that stores through pointers in memory: `nested_pointers ROUNDS LAUNCHES`. The rounds become one more with
// each launch. Prints what is left in memory.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "../../tests/programs/check.h"

constexpr int kSize = 4096;

__global__ void work(float* const* places, const float* in, int size, int rounds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  float value = in[i];
  for (int round = 0; round < rounds; ++round) value = value * 0.99f + 0.5f;
  places[i & 1][i] += value;
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 64, launches = argc > 2 ? std::atoi(argv[2]) : 4;
  float *arrays[3], **places;
  std::vector<float> values(kSize);
  double sum = 0;
  for (float*& array : arrays) {
    check(hipMalloc(&array, kSize * sizeof(float)));
    check(hipMemset(array, 0, kSize * sizeof(float)));
  }
  check(hipMalloc(&places, sizeof arrays));
  check(hipMemcpy(places, arrays, sizeof arrays, hipMemcpyHostToDevice));
  for (int i = 0; i < launches; ++i) {
    work<<<kSize / 128, 128>>>(places, arrays[2], kSize, rounds + i);
    check(hipDeviceSynchronize());
  }
  for (const float* array : arrays) {
    check(hipMemcpy(values.data(), array, kSize * sizeof(float), hipMemcpyDeviceToHost));
    for (float value : values) sum += value;
  }
  std::printf("%.4f\n", sum);
}
