// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "black_scholes.h"

namespace {

void solve(Problem& p) {
  const float *spot = p.arrays[0].floats(), *strike = p.arrays[1].floats();
  float* price = p.arrays[2].floats();
#pragma omp parallel for
  for (int i = 0; i < p.n; ++i) {
    float s = spot[i], k = strike[i];
    float root = 0.3f * std::sqrt(2.0f);
    float d = (std::log(s / k) + (0.05f + 0.045f) * 2) / root;
    float first = 0.5f * std::erfc(-d * 0.70710678f), second = 0.5f * std::erfc((root - d) * 0.70710678f);
    price[i] = s * first - k * std::exp(-0.1f * s / s) * second;
  }
}

}  // namespace

int main() { return run_openmp(black_scholes(), solve); }
