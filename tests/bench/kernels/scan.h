// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inclusive sums within each block of 256 of 4 Mi floats, by doubling distances in shared memory.
#pragma once

#include "bench.h"

inline Problem scan() {
  constexpr int n = 4 << 20, block = 256;
  return {{Array(values(n)), Array::zeros(n)}, n, {n / block, 1}, {block, 1}, [](const Problem& p) {
            bool right = true;
            double sum = 0;
            for (int i = 0; i < p.n; ++i) {
              sum = i % block ? sum + p.arrays[0].floats()[i] : p.arrays[0].floats()[i];
              right &= is_close(p.arrays[1].floats()[i], sum);
            }
            return right;
          }};
}
