// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 16 Mi floats summed in blocks of 256 by halving in shared memory: one sum a block, a barrier a step.
#pragma once

#include "bench.h"

inline Problem reduction() {
  constexpr int n = 16 << 20, block = 256;
  return {{Array(values(n)), Array::zeros(n / block)}, n, {n / block, 1}, {block, 1}, [](const Problem& p) {
            bool right = true;
            for (int b = 0; b < p.n / block; ++b) {
              double sum = 0;
              for (int i = 0; i < block; ++i) sum += p.arrays[0].floats()[b * block + i];
              right &= is_close(p.arrays[1].floats()[b], sum);
            }
            return right;
          }};
}
