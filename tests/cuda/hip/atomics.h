// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What HIP's atomic operations need beside what clang has for CUDA, too.
#pragma once

#include <cstring>

#define __HIP_MEMORY_SCOPE_WORKGROUP 3
#define __HIP_MEMORY_SCOPE_AGENT 4
#define __HIP_MEMORY_SCOPE_SYSTEM 5

template <class T>
__device__ void atomicAddNoRet(T* to, T value) {
  atomicAdd(to, value);
}

template <class T>
__device__ T unsafeAtomicAdd(T* to, T value) {
  return atomicAdd(to, value);
}
template <class T>
__device__ T safeAtomicAdd(T* to, T value) {
  return atomicAdd(to, value);
}

namespace hip_names {

// LLVM 19 has no code for those that order.
template <class T>
__device__ T atomic_load(const T* from, int order, int) {
  T value = *static_cast<const volatile T*>(from);
  if (order != __ATOMIC_RELAXED) __threadfence_system();
  return value;
}
template <class T, class U>
__device__ void atomic_store(T* to, U value, int order, int) {
  if (order != __ATOMIC_RELAXED) __threadfence_system();
  *static_cast<volatile T*>(to) = static_cast<T>(value);
}

template <class T, class Bits, class Choose>
__device__ T replace(T* to, Choose choose) {
  auto* at = reinterpret_cast<Bits*>(to);
  for (Bits seen = *static_cast<volatile Bits*>(at);;) {
    T old, now;
    memcpy(&old, &seen, sizeof old);
    now = choose(old);
    Bits wanted;
    memcpy(&wanted, &now, sizeof wanted);
    Bits before = atomicCAS(at, seen, wanted);
    if (before == seen) return old;
    seen = before;
  }
}

}  // namespace hip_names

#define __hip_atomic_load hip_names::atomic_load
#define __hip_atomic_store hip_names::atomic_store

inline __device__ float atomicMin(float* to, float value) {
  return hip_names::replace<float, unsigned>(to, [=](float old) { return fminf(old, value); });
}
inline __device__ float atomicMax(float* to, float value) {
  return hip_names::replace<float, unsigned>(to, [=](float old) { return fmaxf(old, value); });
}
inline __device__ double atomicMin(double* to, double value) {
  return hip_names::replace<double, unsigned long long>(to, [=](double old) { return fmin(old, value); });
}
inline __device__ double atomicMax(double* to, double value) {
  return hip_names::replace<double, unsigned long long>(to, [=](double old) { return fmax(old, value); });
}
inline __device__ double atomicExch(double* to, double value) {
  return hip_names::replace<double, unsigned long long>(to, [=](double) { return value; });
}
