// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prices of 1 Mi options by the formula of Black and Scholes: exponentials, logarithms, error functions.
#pragma once

#include "bench.h"

inline Problem black_scholes() {
  constexpr int n = 1 << 20;
  return {{Array(values(n)), Array(values(n, n)), Array::zeros(n)}, n, {n / 256, 1}, {256, 1}, [](const Problem& p) {
            bool right = true;
            for (int i = 0; i < p.n; ++i) {
              double s = p.arrays[0].floats()[i], k = p.arrays[1].floats()[i];
              double root = 0.3 * std::sqrt(2.0), d = (std::log(s / k) + (0.05 + 0.045) * 2) / root;
              auto cumulative = [](double x) { return 0.5 * std::erfc(-x * std::sqrt(0.5)); };
              right &= is_close(p.arrays[2].floats()[i], s * cumulative(d) - k * std::exp(-0.1) * cumulative(d - root));
            }
            return right;
          }};
}
