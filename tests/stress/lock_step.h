// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the random programs of lock_step.py are written with, as HIP or, by the names in tests/cuda/hip, as CUDA. WAVE
// is the number of lanes in a wave.
#pragma once
#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

using U = std::uint32_t;
using U8 = std::uint8_t;
using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;
// By these a thread may access what it accesses by others, too.
typedef U8 __attribute__((may_alias)) A8;
typedef U16 __attribute__((may_alias)) A16;
typedef U32 __attribute__((may_alias)) A32;
typedef U64 __attribute__((may_alias)) A64;

constexpr U kInputs = 256, kTables = 4, kOutputs = 6;  // as in lock_step_interpreter.py

#ifdef __CUDACC__
#define WAVE_BARRIER() __syncwarp(__activemask())
#else
#define WAVE_BARRIER() __builtin_amdgcn_wave_barrier()
#endif

// What an element of 64 bits holds of a value, and the other way.
inline __device__ U64 whole(U value) { return value | U64{value * 0x9e3779b1u} << 32; }
inline __device__ U folded(U64 value) { return static_cast<U>(value ^ value >> 32); }

// A test of which the compiler does not know whether it is another one's: lock_step_source.py says why.
inline __device__ bool opaque(bool test) {
  U word = test;
#ifdef __CUDACC__
  asm volatile("" : "+r"(word));
#else
  asm volatile("" : "+v"(word));
#endif
  return word != 0;
}

// What memory holds at first.
inline __host__ __device__ U filled(U index, U salt) { return ((index + salt) * 2654435761u) >> 7; }

inline void check(hipError_t status) {
  if (status == hipSuccess) return;
  std::printf("%s\n", hipGetErrorString(status));
  std::exit(1);
}

template <class T>
T* on_device(const std::vector<T>& values) {
  T* memory = nullptr;
  check(hipMalloc(&memory, values.size() * sizeof(T)));
  check(hipMemcpy(memory, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice));
  return memory;
}

// Prints what is left in device memory, and releases it.
template <class T>
void print(const char* name, const char* what, T* memory, std::size_t count) {
  std::vector<T> values(count);
  check(hipMemcpy(values.data(), memory, count * sizeof(T), hipMemcpyDeviceToHost));
  check(hipFree(memory));
  std::printf("%s %s", name, what);
  for (T value : values) std::printf(" %x", static_cast<unsigned>(value));
  std::printf("\n");
  std::fflush(stdout);  // before the next one, whatever becomes of that
}

inline const U* inputs() {
  std::vector<U> values;
  for (U i = 0, state = 12345; i < kInputs; ++i) {
    state = state * 1664525 + 1013904223;
    values.push_back(state >> 5);
  }
  return on_device(values);
}

inline const U* tables() {
  std::vector<U> values;
  for (U lane = 0; lane < WAVE; ++lane) values.push_back(lane);
  for (U number = 1; number < kTables; ++number) {
    for (U lane = 0; lane < WAVE; ++lane) values.push_back((lane * (2 * number + 5) + 3 * number) % WAVE);
  }
  return on_device(values);
}

// Whether the arguments leave this program out.
inline bool left_out(const char* name) {
  const char* names = std::getenv("LEAVE_OUT");  // each between spaces
  return names != nullptr && std::strstr(names, (" " + std::string(name) + " ").c_str()) != nullptr;
}

template <class K>
void run(const char* name, K kernel, dim3 shape, U blocks, U dynamic_bytes, U scratch_bytes, U seed, U a, U b) {
  if (left_out(name)) return;
  static const U *in = inputs(), *table = tables();
  std::vector<U> out(std::size_t{blocks} * shape.x * shape.y * shape.z * kOutputs);
  std::vector<U8> scratch(scratch_bytes + 8);
  for (U i = 0; i < scratch.size(); ++i) scratch[i] = static_cast<U8>(filled(i, seed));
  U* device_out = on_device(out);
  U8* device_scratch = on_device(scratch);
  kernel<<<blocks, shape, dynamic_bytes>>>(device_out, in, table, device_scratch, a, b);
  check(hipDeviceSynchronize());
  print(name, "out", device_out, out.size());
  print(name, "scratch", device_scratch, scratch_bytes);
}
