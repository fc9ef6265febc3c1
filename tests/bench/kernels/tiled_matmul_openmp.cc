// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tiled_matmul.h"

namespace {

void solve(Problem& p) {
  const float *a = p.arrays[0].floats(), *b = p.arrays[1].floats();
  float* c = p.arrays[2].floats();
  const int n = p.n;
#pragma omp parallel for collapse(2)
  for (int top = 0; top < n; top += 32)
    for (int left = 0; left < n; left += 32) {
      float tile_a[32][32], tile_b[32][32], sum[32][32] = {};
      for (int start = 0; start < n; start += 32) {
        for (int y = 0; y < 32; ++y)
          for (int x = 0; x < 32; ++x) {
            tile_a[y][x] = a[(top + y) * n + start + x];
            tile_b[y][x] = b[(start + y) * n + left + x];
          }
        for (int y = 0; y < 32; ++y)
          for (int i = 0; i < 32; ++i)
            for (int x = 0; x < 32; ++x) sum[y][x] += tile_a[y][i] * tile_b[i][x];
      }
      for (int y = 0; y < 32; ++y)
        for (int x = 0; x < 32; ++x) c[(top + y) * n + left + x] = sum[y][x];
    }
}

}  // namespace

int main() { return run_openmp(tiled_matmul(), solve); }
