// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the kernel benchmarks share. A benchmark NAME is a problem (NAME.h) and three programs that solve it: NAME.hip,
// NAME_openmp.cc and NAME.cl. Each prints one line of JSON, unless its result is wrong.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

// An array of 4-byte elements, which a kernel takes by pointer.
struct Array {
  template <class T>
  explicit Array(const std::vector<T>& values) : words(values.size()) {
    static_assert(sizeof(T) == 4);
    std::memcpy(words.data(), values.data(), 4 * values.size());
  }
  static Array zeros(std::size_t count) { return Array(std::vector<std::uint32_t>(count)); }

  const float* floats() const { return reinterpret_cast<const float*>(words.data()); }
  float* floats() { return reinterpret_cast<float*>(words.data()); }
  const int* ints() const { return reinterpret_cast<const int*>(words.data()); }
  int* ints() { return reinterpret_cast<int*>(words.data()); }

  std::vector<std::uint32_t> words;
};

// A kernel's arguments are the arrays, in order, and then n.
struct Problem {
  std::vector<Array> arrays;
  int n = 0;
  unsigned grid[2] = {1, 1};  // blocks
  unsigned block[2] = {1, 1};
  std::function<bool(const Problem&)> is_right;
};

// The data: a number between 0.5 and 1.5 for each index.
inline float value_at(std::size_t index) {
  std::uint32_t mixed = static_cast<std::uint32_t>(index) * 2654435761u;
  return 0.5f + static_cast<float>(mixed >> 8) * 0x1p-24f;
}

inline std::vector<float> values(std::size_t count, std::size_t first = 0) {
  std::vector<float> made(count);
  for (std::size_t i = 0; i < count; ++i) made[i] = value_at(first + i);
  return made;
}

inline unsigned ceil_div(std::size_t count, std::size_t block) {
  return static_cast<unsigned>((count + block - 1) / block);
}

inline bool is_close(double got, double want) {
  return std::fabs(got - want) <= 1e-4 * std::fmax(1.0, std::fabs(want));
}

// The shortest of ten executions, in nanoseconds, after one that warms up.
template <class Execute>
long long best_of_ten(Execute execute) {
  execute();
  auto best = std::chrono::nanoseconds::max();
  for (int i = 0; i < 10; ++i) {
    auto begin = std::chrono::steady_clock::now();
    execute();
    best = std::min(best, std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin));
  }
  return best.count();
}

// Prints the result, unless it was computed wrongly. Returns the program's exit status.
// `ready`: how long it took to have the kernel's code, in nanoseconds.
inline int report(const Problem& solved, long long nanoseconds, long long ready = 0) {
  if (!solved.is_right(solved)) {
    std::fprintf(stderr, "the result is wrong\n");
    return 1;
  }
  std::printf("{\"ns\":%lld,\"ready_ns\":%lld}\n", nanoseconds, ready);
  return 0;
}

inline int run_openmp(Problem problem, void (*solve)(Problem&)) {
  long long best = best_of_ten([&] { solve(problem); });
  return report(problem, best);
}
