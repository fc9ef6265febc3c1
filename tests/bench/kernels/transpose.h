// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A matrix of 4096 by 4096 floats transposed through 32 by 32 tiles in shared memory, 8 rows at a time.
#pragma once

#include "bench.h"

inline Problem transpose() {
  constexpr int n = 4096;
  return {{Array(values(n * n)), Array::zeros(n * n)}, n, {n / 32, n / 32}, {32, 8}, [](const Problem& p) {
            bool right = true;
            for (int y = 0; y < n; ++y)
              for (int x = 0; x < n; ++x) right &= p.arrays[1].floats()[x * n + y] == p.arrays[0].floats()[y * n + x];
            return right;
          }};
}
