// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// c = a + b on 16 Mi floats, 64 MiB an array: pure streaming.
#pragma once

#include "bench.h"

inline Problem vector_add() {
  constexpr int n = 16 << 20;
  return {{Array(values(n)), Array(values(n, 1)), Array::zeros(n)},
          n,
          {ceil_div(n, 256), 1},
          {256, 1},
          [](const Problem& p) {
            bool right = true;
            for (int i = 0; i < p.n; ++i) right &= p.arrays[2].floats()[i] == value_at(i) + value_at(i + 1);
            return right;
          }};
}
