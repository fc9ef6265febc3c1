// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What random kernels are written with. Compiled as HIP, they run on a device; with REFERENCE defined, as plain C++ in
// which each thread of a block has a stack of its own and they take turns, in order, from barrier to barrier.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

using U = std::uint32_t;
using I = std::int32_t;
using W = std::uint64_t;
using B = std::uint8_t;

constexpr U kThreads = 128;  // at most, in a block
constexpr U kOut = 8;        // words of its own that each thread has in `out`, the first of all threads first
constexpr U kIn = 256, kUni = 16, kCells = 8, kBlocks = 3;

struct Extra {
  U x;
  B flag;
  float f;
  W w;
};

struct Shape {
  U x, y, z, blocks;
};

#ifdef REFERENCE
#include <ucontext.h>

#include <cmath>

#define __global__
#define __device__
#define __noinline__ __attribute__((noinline))
#define SHARED(type, declarator) static type declarator
#define SHARED_DYNAMIC(name) U* name = reference::dynamic_shared

namespace reference {

struct Index {
  U x, y, z;
};
inline Index thread, block, block_size, grid_size;
inline U dynamic_shared[2 * kThreads];

struct Fiber {
  ucontext_t state;
  std::vector<char> stack;
  Index index;
  bool ended;
};
inline std::vector<Fiber> fibers;
inline ucontext_t scheduler;
inline Fiber* running;
inline void (*body)(const void*);
inline const void* body_data;

inline void start() {
  body(body_data);
  running->ended = true;
  swapcontext(&running->state, &scheduler);
}

__attribute__((noinline)) inline void wait() { swapcontext(&running->state, &scheduler); }

inline void run_block(U block_number, const Shape& shape) {
  block = {block_number, 0, 0};
  block_size = {shape.x, shape.y, shape.z};
  grid_size = {shape.blocks, 1, 1};
  U count = shape.x * shape.y * shape.z;
  fibers.resize(count);
  for (U i = 0; i < count; ++i) {
    Fiber& fiber = fibers[i];
    fiber.stack.resize(64 << 10);
    fiber.index = {i % shape.x, i / shape.x % shape.y, i / shape.x / shape.y};
    fiber.ended = false;
    getcontext(&fiber.state);
    fiber.state.uc_stack.ss_sp = fiber.stack.data();
    fiber.state.uc_stack.ss_size = fiber.stack.size();
    makecontext(&fiber.state, start, 0);
  }
  for (bool some = true; some;) {
    some = false;
    for (Fiber& fiber : fibers) {
      if (fiber.ended) continue;
      running = &fiber;
      thread = fiber.index;
      swapcontext(&scheduler, &fiber.state);
      some = true;
    }
  }
}

template <class F>
void launch(const Shape& shape, F kernel) {
  body = [](const void* data) { (*static_cast<const F*>(data))(); };
  body_data = &kernel;
  for (U number = 0; number < shape.blocks; ++number) run_block(number, shape);
}

}  // namespace reference

#define threadIdx reference::thread
#define blockIdx reference::block
#define blockDim reference::block_size
#define gridDim reference::grid_size
inline void __syncthreads() { reference::wait(); }

template <class F>
U update(U* at, F f) {
  U old = *at;
  *at = f(old);
  return old;
}
inline U atomicAdd(U* at, U v) {
  return update(at, [=](U o) { return o + v; });
}
inline U atomicSub(U* at, U v) {
  return update(at, [=](U o) { return o - v; });
}
inline U atomicXor(U* at, U v) {
  return update(at, [=](U o) { return o ^ v; });
}
inline U atomicOr(U* at, U v) {
  return update(at, [=](U o) { return o | v; });
}
inline U atomicAnd(U* at, U v) {
  return update(at, [=](U o) { return o & v; });
}
inline U atomicMin(U* at, U v) {
  return update(at, [=](U o) { return o < v ? o : v; });
}
inline U atomicMax(U* at, U v) {
  return update(at, [=](U o) { return o < v ? v : o; });
}
inline U atomicExch(U* at, U v) {
  return update(at, [=](U) { return v; });
}
inline U atomicCAS(U* at, U c, U v) {
  return update(at, [=](U o) { return o == c ? v : o; });
}

#define LAUNCH(kernel, shape, ...) reference::launch(shape, [=] { kernel(__VA_ARGS__); })

template <class T>
T* device_copy(const std::vector<T>& values) {
  T* memory = new T[values.size()];
  for (std::size_t i = 0; i < values.size(); ++i) memory[i] = values[i];
  return memory;
}
inline void read_back(std::vector<U>& values, U* memory) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = memory[i];
  delete[] memory;
}

#else
#include <hip/hip_runtime.h>

#define SHARED(type, declarator) __shared__ type declarator
#define SHARED_DYNAMIC(name) extern __shared__ U name[]

inline void check(hipError_t status) {
  if (status == hipSuccess) return;
  std::printf("%s\n", hipGetErrorString(status));
  std::exit(1);
}

#define LAUNCH(kernel, shape, ...)                                                                  \
  kernel<<<shape.blocks, dim3(shape.x, shape.y, shape.z), 2 * kThreads * sizeof(U)>>>(__VA_ARGS__), \
      check(hipDeviceSynchronize())

template <class T>
T* device_copy(const std::vector<T>& values) {
  T* memory = nullptr;
  check(hipMalloc(&memory, values.size() * sizeof(T)));
  check(hipMemcpy(memory, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice));
  return memory;
}
inline void read_back(std::vector<U>& values, U* memory) {
  check(hipMemcpy(values.data(), memory, values.size() * sizeof(U), hipMemcpyDeviceToHost));
  check(hipFree(memory));
}
#endif

// A float's bits; which NaN it is, is nobody's business.
inline __device__ U bits(float f) {
  if (f != f) return 0x7fc00000;
  U u;
  __builtin_memcpy(&u, &f, 4);
  return u;
}
inline __device__ U whole(float f) { return f > -1e6f && f < 1e6f ? static_cast<U>(static_cast<I>(f)) : 7u; }

inline U mixed(U x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

inline U digest(const std::vector<U>& values) {
  U sum = 1;
  for (U value : values) sum = mixed(sum ^ value) + 0x9e3779b9u;
  return sum;
}

// Launches a kernel in some shapes, and prints a line for each: all that it left in memory, in short or in full.
template <class K>
void try_kernel(const char* name, K kernel) {
  static const Shape kShapes[] = {{37, 1, 1, 3}, {64, 1, 1, 2}, {7, 5, 1, 2}, {13, 3, 2, 1}, {1, 1, 1, 3}};
  static const bool in_full = std::getenv("IN_FULL") != nullptr;
  U seed = 1;
  for (const Shape& shape : kShapes) {
    ++seed;
    std::vector<U> out(kThreads * kBlocks * kOut), in(kIn), uni(kUni), cells(kCells), board(2 * kThreads * kBlocks);
    for (U i = 0; i < in.size(); ++i) in[i] = mixed(seed * 1000 + i) >> (i % 3 * 12);
    for (U i = 0; i < uni.size(); ++i) uni[i] = mixed(seed * 77 + i) >> (i % 3 * 14);
    U* memory[5] = {device_copy(out), device_copy(in), device_copy(uni), device_copy(cells), device_copy(board)};
    Extra extra{mixed(seed), static_cast<B>(seed % 2), 0.375f * static_cast<float>(seed), mixed(seed) * W{65537}};
    LAUNCH(kernel, shape, memory[0], memory[1], memory[2], memory[3], memory[4], static_cast<I>(seed % 5),
           mixed(seed + 5), extra);
    std::vector<U>* results[] = {&out, &in, &uni, &cells, &board};
    for (int i = 0; i < 5; ++i) read_back(*results[i], memory[i]);
    std::printf("%s %ux%ux%u/%u %08x %08x %08x %08x\n", name, shape.x, shape.y, shape.z, shape.blocks, digest(out),
                digest(cells), digest(in) ^ digest(uni), digest(board));
    if (!in_full) continue;
    U threads = shape.x * shape.y * shape.z;
    for (U i = 0; i < threads * shape.blocks; ++i) {
      std::printf("  %u.%u:", i / threads, i % threads);
      for (U j = 0; j < kOut; ++j) std::printf(" %x", out[j * kThreads * kBlocks + i]);
      std::printf("\n");
    }
  }
}
