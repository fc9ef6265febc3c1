// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nbody.h"

namespace {

void solve(Problem& p) {
  const float *x = p.arrays[0].floats(), *y = p.arrays[1].floats(), *z = p.arrays[2].floats();
  float* a = p.arrays[3].floats();
#pragma omp parallel for
  for (int block = 0; block < p.n; block += 256) {
    float sum[256] = {};
    for (int j = 0; j < p.n; ++j)
      for (int t = 0; t < 256; ++t) {
        float dx = x[j] - x[block + t], dy = y[j] - y[block + t], dz = z[j] - z[block + t];
        float r = dx * dx + dy * dy + dz * dz + 0.01f;
        sum[t] += dx / (r * std::sqrt(r));
      }
    for (int t = 0; t < 256; ++t) a[block + t] = sum[t];
  }
}

}  // namespace

int main() { return run_openmp(nbody(), solve); }
