// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A five-point stencil on 4096 by 4096 floats; the edge is left alone.
#pragma once

#include "bench.h"

inline Problem stencil() {
  constexpr int n = 4096;
  return {{Array(values(n * n)), Array(values(n * n))},
          n,
          {ceil_div(n, 64), ceil_div(n, 4)},
          {64, 4},
          [](const Problem& p) {
            const float *in = p.arrays[0].floats(), *out = p.arrays[1].floats();
            bool right = out[0] == in[0];
            for (int y = 1; y < n - 1; ++y)
              for (int x = 1; x < n - 1; ++x) {
                int i = y * n + x;
                right &= is_close(out[i], 0.5 * in[i] + 0.125 * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n]));
              }
            return right;
          }};
}
