// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 4 Mi values counted in 256 bins: by atomics in shared memory, then by one for each bin and block in device memory.
// A block counts 4096 values.
#pragma once

#include "bench.h"

inline Problem histogram() {
  constexpr int n = 4 << 20, bins = 256;
  std::vector<int> data(n);
  for (int i = 0; i < n; ++i) data[i] = static_cast<int>(256 * (value_at(i) - 0.5f));
  return {{Array(data), Array::zeros(bins)}, n, {n / 4096, 1}, {256, 1}, [](const Problem& p) {
            std::vector<long> count(bins);
            for (int i = 0; i < p.n; ++i) ++count[p.arrays[0].ints()[i]];
            // Executed once or more: what was added each time is the same.
            long times = p.arrays[1].ints()[0] / count[0];
            bool right = times > 0;
            for (int bin = 0; bin < bins; ++bin) right &= p.arrays[1].ints()[bin] == times * count[bin];
            return right;
          }};
}
