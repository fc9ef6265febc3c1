// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accelerations of 4096 bodies: each thread goes through tiles of 256 bodies in shared memory.
#pragma once

#include "bench.h"

inline Problem nbody() {
  constexpr int n = 4096;
  return {{Array(values(n)), Array(values(n, n)), Array(values(n, 2 * n)), Array::zeros(n)},
          n,
          {n / 256, 1},
          {256, 1},
          [](const Problem& p) {
            const float *x = p.arrays[0].floats(), *y = p.arrays[1].floats(), *z = p.arrays[2].floats();
            bool right = true;
            for (int i = 0; i < n; i += 61) {
              double sum = 0;
              for (int j = 0; j < n; ++j) {
                double dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
                double r = dx * dx + dy * dy + dz * dz + 0.01;
                sum += dx / (r * std::sqrt(r));
              }
              right &= std::fabs(p.arrays[3].floats()[i] - sum) <= 1e-2 * std::fmax(1.0, std::fabs(sum));
            }
            return right;
          }};
}
