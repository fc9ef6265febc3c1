// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "scan.h"

namespace {

// The same steps, so the same rounding.
void solve(Problem& p) {
  const float* in = p.arrays[0].floats();
  float* out = p.arrays[1].floats();
#pragma omp parallel for
  for (int block = 0; block < p.n / 256; ++block) {
    float sums[2][256];
    int from = 0;
    for (int t = 0; t < 256; ++t) sums[0][t] = in[block * 256 + t];
    for (int distance = 1; distance < 256; distance *= 2) {
      for (int t = 0; t < distance; ++t) sums[1 - from][t] = sums[from][t];
      for (int t = distance; t < 256; ++t) sums[1 - from][t] = sums[from][t] + sums[from][t - distance];
      from = 1 - from;
    }
    for (int t = 0; t < 256; ++t) out[block * 256 + t] = sums[from][t];
  }
}

}  // namespace

int main() { return run_openmp(scan(), solve); }
