// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What stencil.hip computes, as OpenMP loops.

#include <memory>

#include "bench.h"

static void stencil(const float* in, float* out, int n) {
#pragma omp parallel for
  for (int y = 1; y < n - 1; ++y)
    for (int x = 1; x < n - 1; ++x) {
      int i = y * n + x;
      out[i] = 0.5f * in[i] + 0.125f * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n]);
    }
}

int main(int argc, char** argv) {
  const auto [size, repeats] = parse_arguments(argc, argv, 4096);
  const int n = static_cast<int>(size);
  // Not initialised by the allocation, so that each thread touches its own part first.
  std::unique_ptr<float[]> in(new float[size * size]), out(new float[size * size]);
#pragma omp parallel for
  for (int y = 0; y < n; ++y)
    for (int i = y * n; i < (y + 1) * n; ++i) in[i] = out[i] = value_at(i);

  long long best = best_of(repeats, [&] { stencil(in.get(), out.get(), n); });

  bool right = out[0] == in[0];
  for (int y = 1; y < n - 1; ++y)
    for (int x = 1; x < n - 1; ++x) {
      int i = y * n + x;
      right &= is_close(out[i], 0.5 * in[i] + 0.125 * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n]));
    }
  return report("stencil_openmp", best, right);
}
