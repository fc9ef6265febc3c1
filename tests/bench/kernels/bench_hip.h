// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../programs/check.h"
#include "bench.h"

// Launches `kernel` on the problem's arrays in device memory.
inline int run_hip(Problem problem, const void* kernel) {
  std::vector<void*> device;
  for (const Array& array : problem.arrays) device.push_back(to_device(array.words));
  std::vector<void*> arguments;
  for (void*& pointer : device) arguments.push_back(&pointer);
  arguments.push_back(&problem.n);
  auto begin = std::chrono::steady_clock::now();
  hipFuncAttributes attributes;
  check(hipFuncGetAttributes(&attributes, kernel));  // which needs its code
  long long ready = std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
  long long best = best_of_ten([&] {
    check(hipLaunchKernel(kernel, dim3(problem.grid[0], problem.grid[1]), dim3(problem.block[0], problem.block[1]),
                          arguments.data(), 0, nullptr));
    check(hipDeviceSynchronize());
  });
  for (std::size_t i = 0; i < device.size(); ++i) {
    auto& words = problem.arrays[i].words;
    check(hipMemcpy(words.data(), device[i], 4 * words.size(), hipMemcpyDeviceToHost));
    check(hipFree(device[i]));
  }
  return report(problem, best, ready);
}
