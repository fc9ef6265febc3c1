// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tiled_matmul.hip computes, as OpenMP loops with the same tiles: a thread works on one tile of C at a time.

#include <vector>

#include "bench.h"

constexpr int kTile = 32;

static void tiled_matmul(const float* a, const float* b, float* c, int n) {
#pragma omp parallel for collapse(2)
  for (int top = 0; top < n; top += kTile)
    for (int left = 0; left < n; left += kTile) {
      float tile_a[kTile][kTile], tile_b[kTile][kTile], sum[kTile][kTile] = {};
      for (int start = 0; start < n; start += kTile) {
        for (int y = 0; y < kTile; ++y)
          for (int x = 0; x < kTile; ++x) {
            tile_a[y][x] = a[(top + y) * n + start + x];
            tile_b[y][x] = b[(start + y) * n + left + x];
          }
        for (int y = 0; y < kTile; ++y)
          for (int i = 0; i < kTile; ++i)
            for (int x = 0; x < kTile; ++x) sum[y][x] += tile_a[y][i] * tile_b[i][x];
      }
      for (int y = 0; y < kTile; ++y)
        for (int x = 0; x < kTile; ++x) c[(top + y) * n + left + x] = sum[y][x];
    }
}

int main(int argc, char** argv) {
  const auto [size, repeats] = parse_arguments(argc, argv, 512);
  const int n = static_cast<int>((size + kTile - 1) / kTile * kTile);
  std::vector<float> a(n * n), b(n * n), c(n * n);
  for (int i = 0; i < n * n; ++i) a[i] = value_at(i), b[i] = value_at(i + 1);

  long long best = best_of(repeats, [&] { tiled_matmul(a.data(), b.data(), c.data(), n); });

  bool right = true;
  for (int place = 0; place < n * n; place += 997) {  // some of the elements: all would take longer than the benchmark
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += double(a[place / n * n + i]) * b[i * n + place % n];
    right &= is_close(c[place], sum);
  }
  return report("tiled_matmul_openmp", best, right);
}
