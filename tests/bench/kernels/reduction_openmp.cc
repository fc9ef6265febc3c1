// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reduction.h"

namespace {

// The same tree, so the same rounding.
void solve(Problem& p) {
  const float* in = p.arrays[0].floats();
  float* sums = p.arrays[1].floats();
#pragma omp parallel for
  for (int block = 0; block < p.n / 256; ++block) {
    float partial[256];
    for (int t = 0; t < 256; ++t) partial[t] = in[block * 256 + t];
    for (int stride = 128; stride > 0; stride /= 2)
      for (int t = 0; t < stride; ++t) partial[t] += partial[t + stride];
    sums[block] = partial[0];
  }
}

}  // namespace

int main() { return run_openmp(reduction(), solve); }
