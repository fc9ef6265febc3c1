// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What reduction.hip computes, as OpenMP loops: the same tree, so the same rounding, one block after the other.

#include <memory>

#include "bench.h"

constexpr int kBlock = 256;

static void reduction(const float* in, float* sums, std::size_t n) {
  const std::size_t blocks = (n + kBlock - 1) / kBlock;
#pragma omp parallel for
  for (std::size_t block = 0; block < blocks; ++block) {
    float partial[kBlock];
    const std::size_t first = block * kBlock;
    if (first + kBlock <= n)
      for (int t = 0; t < kBlock; ++t) partial[t] = in[first + t];
    else
      for (int t = 0; t < kBlock; ++t) partial[t] = first + t < n ? in[first + t] : 0;
    for (int stride = kBlock / 2; stride > 0; stride /= 2)
      for (int t = 0; t < stride; ++t) partial[t] += partial[t + stride];
    sums[block] = partial[0];
  }
}

int main(int argc, char** argv) {
  const auto [size, repeats] = parse_arguments(argc, argv, 16 << 20);
  const std::size_t n = size;
  const std::size_t blocks = (n + kBlock - 1) / kBlock;
  // Not initialised by the allocation, so that each thread touches its own part first.
  std::unique_ptr<float[]> in(new float[n]), sums(new float[blocks]);
#pragma omp parallel for
  for (std::size_t i = 0; i < n; ++i) in[i] = value_at(i);

  long long best = best_of(repeats, [&] { reduction(in.get(), sums.get(), n); });

  bool right = true;
  for (std::size_t block = 0; block < blocks; ++block) {
    double sum = 0;
    for (std::size_t i = block * kBlock; i < std::min(n, (block + 1) * kBlock); ++i) sum += in[i];
    right &= is_close(sums[block], sum);
  }
  return report("reduction_openmp", best, right);
}
