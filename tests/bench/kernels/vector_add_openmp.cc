// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What vector_add.hip computes, as an OpenMP loop.

#include <memory>

#include "bench.h"

static void vector_add(const float* a, const float* b, float* c, std::size_t n) {
#pragma omp parallel for
  for (std::size_t i = 0; i < n; ++i) c[i] = a[i] + b[i];
}

int main(int argc, char** argv) {
  const auto [size, repeats] = parse_arguments(argc, argv, 16 << 20);
  const std::size_t n = size;
  // Not initialised by the allocation, so that each thread touches its own part first.
  std::unique_ptr<float[]> a(new float[n]), b(new float[n]), c(new float[n]);
#pragma omp parallel for
  for (std::size_t i = 0; i < n; ++i) a[i] = value_at(i), b[i] = value_at(i + 1), c[i] = 0;

  long long best = best_of(repeats, [&] { vector_add(a.get(), b.get(), c.get(), n); });

  bool right = true;
  for (std::size_t i = 0; i < n; ++i) right &= c[i] == a[i] + b[i];
  return report("vector_add_openmp", best, right);
}
