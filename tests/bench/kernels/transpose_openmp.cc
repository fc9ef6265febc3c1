// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "transpose.h"

namespace {

void solve(Problem& p) {
  const float* in = p.arrays[0].floats();
  float* out = p.arrays[1].floats();
  const int n = p.n;
#pragma omp parallel for collapse(2)
  for (int top = 0; top < n; top += 32)
    for (int left = 0; left < n; left += 32) {
      float tile[32][33];
      for (int y = 0; y < 32; ++y)
        for (int x = 0; x < 32; ++x) tile[y][x] = in[(top + y) * n + left + x];
      for (int y = 0; y < 32; ++y)
        for (int x = 0; x < 32; ++x) out[(left + y) * n + top + x] = tile[x][y];
    }
}

}  // namespace

int main() { return run_openmp(transpose(), solve); }
