// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// y = A * x for a sparse matrix of 256 Ki rows with 1 to 31 entries each (compressed rows): a row a thread.
#pragma once

#include "bench.h"

inline Problem spmv() {
  constexpr int n = 256 << 10;
  std::vector<int> starts(n + 1), columns;
  for (int row = 0; row < n; ++row) {
    int count = 1 + (row * 7) % 31;
    for (int i = 0; i < count; ++i) columns.push_back(static_cast<int>((row + 37ll * i * i * 11) % n));
    starts[row + 1] = starts[row] + count;
  }
  std::vector<float> entries = values(columns.size(), 3);
  return {{Array(starts), Array(columns), Array(entries), Array(values(n)), Array::zeros(n)},
          n,
          {n / 128, 1},
          {128, 1},
          [](const Problem& p) {
            bool right = true;
            for (int row = 0; row < p.n; ++row) {
              double sum = 0;
              for (int i = p.arrays[0].ints()[row]; i < p.arrays[0].ints()[row + 1]; ++i)
                sum += double(p.arrays[2].floats()[i]) * p.arrays[3].floats()[p.arrays[1].ints()[i]];
              right &= is_close(p.arrays[4].floats()[row], sum);
            }
            return right;
          }};
}
