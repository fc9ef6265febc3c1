// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What kernels have of the language's libraries in HIP, and not in CUDA as clang compiles it.
#pragma once

#include <cstdlib>

#ifndef __NVCC__  // whose headers have these
extern "C" __device__ inline void abort() noexcept { __trap(); }

// What a table of virtual functions has for one without a body.
extern "C" __device__ __attribute__((used, weak)) void __cxa_pure_virtual() { __trap(); }

// Declared by clang's headers.
static inline __device__ float nanf(const char*) { return __builtin_nanf(""); }
static inline __device__ double nan(const char*) { return __builtin_nan(""); }
#endif

// In nanoseconds here.
inline __device__ long long wall_clock64() {
  long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

inline __device__ unsigned __lastbit_u32_u64(unsigned long long bits) {
  return static_cast<unsigned>(__ffsll(static_cast<long long>(bits)) - 1);
}
inline __device__ unsigned long long __bitextract_u64(unsigned long long bits, unsigned first, unsigned count) {
  return bits >> first & ((1ULL << count) - 1);
}
inline __device__ unsigned long long __bitinsert_u64(unsigned long long into, unsigned long long bits, unsigned first,
                                                     unsigned count) {
  unsigned long long mask = ((1ULL << count) - 1) << first;
  return (into & ~mask) | (bits << first & mask);
}
