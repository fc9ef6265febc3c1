// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the kernel benchmarks share, HIP or OpenMP: arguments, data, timing, and one line of JSON as the result.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

struct Arguments {
  std::size_t size;  // what it counts is up to the benchmark
  int repeats;
};

// PROGRAM [SIZE [REPEATS]]
inline Arguments parse_arguments(int argc, char** argv, std::size_t default_size) {
  Arguments arguments{default_size, 10};
  if (argc > 1) arguments.size = std::strtoull(argv[1], nullptr, 10);
  if (argc > 2) arguments.repeats = std::atoi(argv[2]);
  if (argc > 3 || arguments.size == 0 || arguments.repeats <= 0) {
    std::fprintf(stderr, "usage: %s [SIZE [REPEATS]]\n", argv[0]);
    std::exit(2);
  }
  return arguments;
}

// The data: a number between 0.5 and 1.5 for each index.
inline float value_at(std::size_t index) {
  std::uint32_t mixed = static_cast<std::uint32_t>(index) * 2654435761u;
  return 0.5f + static_cast<float>(mixed >> 8) * 0x1p-24f;
}

inline bool is_close(double got, double want) {
  return std::fabs(got - want) <= 1e-4 * std::fmax(1.0, std::fabs(want));
}

// The shortest of `repeats` executions, in nanoseconds, after one that warms up.
template <class Execute>
long long best_of(int repeats, Execute execute) {
  execute();
  auto best = std::chrono::nanoseconds::max();
  for (int i = 0; i < repeats; ++i) {
    auto begin = std::chrono::steady_clock::now();
    execute();
    best = std::min(best, std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin));
  }
  return best.count();
}

// Prints the result, unless it was computed wrongly. Returns the program's exit status.
inline int report(const char* name, long long nanoseconds, bool right) {
  if (!right) {
    std::fprintf(stderr, "%s: FAILED: the result is wrong\n", name);
    return 1;
  }
  std::printf("{\"name\":\"%s\",\"ns\":%lld}\n", name, nanoseconds);
  return 0;
}
