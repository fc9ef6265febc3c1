// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches a small kernel N times, and prints what a launch takes in nanoseconds, as {"launch_ns":…}.
#include <hip/hip_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

constexpr int kSteps = 200;

// A generator of numbers that takes as many steps as it is told.
__host__ __device__ unsigned after(unsigned state, int steps) {
  for (int i = 0; i < steps; ++i) state = state * 1664525 + 1013904223;
  return state;
}

__global__ void generate(unsigned *state, int steps) { *state = after(*state, steps); }

int main(int argc, char **argv) {
  using Clock = std::chrono::steady_clock;
  const int launches = argc > 1 ? std::atoi(argv[1]) : 1;
  unsigned *state, value = 0;
  if (hipMalloc(reinterpret_cast<void **>(&state), sizeof(unsigned)) != hipSuccess) return 1;
  if (hipMemset(state, 0, sizeof(unsigned)) != hipSuccess) return 1;
  generate<<<1, 1>>>(state, kSteps);
  if (hipDeviceSynchronize() != hipSuccess) return 1;
  const auto start = Clock::now();
  for (int i = 0; i < launches; ++i) generate<<<1, 1>>>(state, kSteps);
  const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start);
  if (hipMemcpy(&value, state, sizeof(unsigned), hipMemcpyDeviceToHost) != hipSuccess) return 1;
  if (value != after(0, kSteps * (launches + 1))) return 1;
  std::printf("{\"launch_ns\":%lld}\n", static_cast<long long>(took.count() / launches));
}
