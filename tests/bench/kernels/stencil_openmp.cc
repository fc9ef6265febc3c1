// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "stencil.h"

namespace {

void solve(Problem& p) {
  const float* in = p.arrays[0].floats();
  float* out = p.arrays[1].floats();
  const int n = p.n;
#pragma omp parallel for
  for (int y = 1; y < n - 1; ++y)
    for (int x = 1; x < n - 1; ++x) {
      int i = y * n + x;
      out[i] = 0.5f * in[i] + 0.125f * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n]);
    }
}

}  // namespace

int main() { return run_openmp(stencil(), solve); }
