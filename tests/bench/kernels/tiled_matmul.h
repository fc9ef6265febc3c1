// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C = A * B for matrices of 512 by 512 floats, with 32 by 32 tiles in shared memory and two barriers a tile.
#pragma once

#include "bench.h"

inline Problem tiled_matmul() {
  constexpr int n = 512, tile = 32;
  return {{Array(values(n * n)), Array(values(n * n, 1)), Array::zeros(n * n)},
          n,
          {n / tile, n / tile},
          {tile, tile},
          [](const Problem& p) {
            const float *a = p.arrays[0].floats(), *b = p.arrays[1].floats();
            bool right = true;
            for (int at = 0; at < n * n; at += 997) {  // some: all would take longer than the benchmark
              double sum = 0;
              for (int i = 0; i < n; ++i) sum += double(a[at / n * n + i]) * b[i * n + at % n];
              right &= is_close(p.arrays[2].floats()[at], sum);
            }
            return right;
          }};
}
