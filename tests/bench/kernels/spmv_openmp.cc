// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "spmv.h"

namespace {

void solve(Problem& p) {
  const int *starts = p.arrays[0].ints(), *columns = p.arrays[1].ints();
  const float *entries = p.arrays[2].floats(), *x = p.arrays[3].floats();
  float* y = p.arrays[4].floats();
#pragma omp parallel for
  for (int row = 0; row < p.n; ++row) {
    float sum = 0;
    for (int i = starts[row]; i < starts[row + 1]; ++i) sum += entries[i] * x[columns[i]];
    y[row] = sum;
  }
}

}  // namespace

int main() { return run_openmp(spmv(), solve); }
