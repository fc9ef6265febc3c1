// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "histogram.h"

namespace {

void solve(Problem& p) {
  const int* data = p.arrays[0].ints();
  int* bins = p.arrays[1].ints();
#pragma omp parallel for
  for (int block = 0; block < p.n / 4096; ++block) {
    int mine[256] = {};
    for (int i = 0; i < 4096; ++i) ++mine[data[block * 4096 + i]];
    for (int bin = 0; bin < 256; ++bin) {
#pragma omp atomic
      bins[bin] += mine[bin];
    }
  }
}

}  // namespace

int main() { return run_openmp(histogram(), solve); }
