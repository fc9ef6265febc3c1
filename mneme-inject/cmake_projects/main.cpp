// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gpu.h"

bool fill(float* data, int n);

int main() {
  float* data = nullptr;
  return gpuMalloc(reinterpret_cast<void**>(&data), 1000 * sizeof(float)) != 0 || !fill(data, 1000);
}
