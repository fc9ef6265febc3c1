// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "vector_add.h"

namespace {

void solve(Problem& p) {
  const float *a = p.arrays[0].floats(), *b = p.arrays[1].floats();
  float* c = p.arrays[2].floats();
#pragma omp parallel for
  for (int i = 0; i < p.n; ++i) c[i] = a[i] + b[i];
}

}  // namespace

int main() { return run_openmp(vector_add(), solve); }
