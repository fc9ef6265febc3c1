// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What random kernels are written with. Compiled as HIP, they run on a device; with REFERENCE defined, as plain C++ in
// which each thread of a block has a stack of its own and they take turns, in order, from barrier to barrier. There
// each thread also counts the iterations of the loops that it is in (LOOP, ITER), so that the lanes of a wave that meet
// are, by definition, those that say the same about where they are. WAVE is the number of threads in a wave.
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

enum class Wait { kNothing, kBlock, kWave, kEnd };

struct Fiber {
  ucontext_t state;
  std::vector<char> stack;
  Index index;
  Wait wait;
  std::vector<U> key;  // loop, iteration, loop, iteration, …, and, at a place of the wave, that
  // What it brought, and what it gets.
  W value;
  U from;
  W result;
  void (*meet)(std::vector<Fiber*>& lanes, U first);
};
inline std::vector<Fiber> fibers;
inline ucontext_t scheduler;
inline Fiber* running;
inline void (*body)(const void*);
inline const void* body_data;

inline void start() {
  body(body_data);
  running->wait = Wait::kEnd;
  swapcontext(&running->state, &scheduler);
}

__attribute__((noinline)) inline void wait(Wait what) {
  running->wait = what;
  swapcontext(&running->state, &scheduler);
}

inline U thread_number() { return static_cast<U>(running - fibers.data()); }

// Round a loop: made in front of it, told of each iteration.
class Loop {
 public:
  explicit Loop(U place) : key_(running->key) {
    key_.push_back(place);
    key_.push_back(0);
    depth_ = key_.size();
  }
  ~Loop() { key_.resize(depth_ - 2); }
  void next() { ++key_[depth_ - 1]; }

 private:
  std::vector<U>& key_;
  std::size_t depth_;
};

// `meet` gives each of the lanes that are here its result, by what they brought; `first` is the wave's first thread.
inline W at_wave_place(U place, W value, U from, void (*meet)(std::vector<Fiber*>& lanes, U first)) {
  running->key.push_back(place);
  running->value = value;
  running->from = from;
  running->meet = meet;
  wait(Wait::kWave);
  running->key.pop_back();
  return running->result;
}

inline void take(std::vector<Fiber*>& lanes, U first) {
  for (Fiber* lane : lanes) {
    lane->result = 0;
    for (Fiber* other : lanes) {
      if (static_cast<U>(other - fibers.data()) == first + (lane->from & (WAVE - 1))) lane->result = other->value;
    }
  }
}
inline void vote(std::vector<Fiber*>& lanes, U first) {
  W votes = 0;
  for (Fiber* lane : lanes) votes |= (lane->value ? W{1} : W{0}) << (static_cast<U>(lane - fibers.data()) - first);
  for (Fiber* lane : lanes) lane->result = votes;
}

inline void resume(Fiber& fiber) {
  running = &fiber;
  thread = fiber.index;
  fiber.wait = Wait::kNothing;
  swapcontext(&scheduler, &fiber.state);
}

// The lanes of a wave go on until each has ended or waits for the block.
inline void settle(U first) {
  while (true) {
    std::vector<Fiber*> least;
    for (U i = first; i < first + WAVE && i < fibers.size(); ++i) {
      Fiber& fiber = fibers[i];
      if (fiber.wait != Wait::kWave) continue;
      if (!least.empty() && fiber.key < least[0]->key) least.clear();
      if (least.empty() || fiber.key == least[0]->key) least.push_back(&fiber);
    }
    if (least.empty()) return;
    least[0]->meet(least, first);
    for (Fiber* fiber : least) resume(*fiber);
  }
}

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
    fiber.wait = Wait::kBlock;
    fiber.key.clear();
    getcontext(&fiber.state);
    fiber.state.uc_stack.ss_sp = fiber.stack.data();
    fiber.state.uc_stack.ss_size = fiber.stack.size();
    makecontext(&fiber.state, start, 0);
  }
  for (bool some = true; some;) {
    some = false;
    std::vector<Fiber*> released;
    U votes = 0;
    for (Fiber& fiber : fibers) {
      if (fiber.wait != Wait::kBlock) continue;
      released.push_back(&fiber);
      votes += fiber.value != 0;
    }
    for (Fiber* fiber : released) {
      fiber->result = votes;
      fiber->value = released.size();
      resume(*fiber);
      some = true;
    }
    for (U first = 0; first < count; first += WAVE) settle(first);
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
inline void __syncthreads() { reference::wait(reference::Wait::kBlock); }
inline I __syncthreads_count(I vote) {
  reference::running->value = vote ? 1 : 0;
  reference::wait(reference::Wait::kBlock);
  return static_cast<I>(reference::running->result);
}
inline I __syncthreads_or(I vote) { return __syncthreads_count(vote) != 0; }
inline I __syncthreads_and(I vote) {
  U votes = static_cast<U>(__syncthreads_count(vote));
  return votes == reference::running->value;  // as many as there were
}

#define LOOP(name) reference::Loop loop_##name(__COUNTER__)
#define ITER(name) loop_##name.next()
#define SHFL(value, from, width) reference::shuffle(__COUNTER__, value, (from) + (reference::lane() & ~((width) - 1)))
#define SHFL_UP(value, by, width) reference::shuffle(__COUNTER__, value, reference::above(by, width))
#define SHFL_DOWN(value, by, width) reference::shuffle(__COUNTER__, value, reference::below(by, width))
#define SHFL_XOR(value, mask, width) reference::shuffle(__COUNTER__, value, reference::across(mask, width))
#define BALLOT(test) reference::at_wave_place(__COUNTER__, (test) ? 1 : 0, 0, reference::vote)
#define ANY(test) (BALLOT(test) != 0)
#define ALL(test) (BALLOT(!(test)) == 0)
namespace reference {
inline U lane() { return thread_number() & (WAVE - 1); }
inline U above(U by, U width) { return by > (lane() & (width - 1)) ? lane() : lane() - by; }
inline U below(U by, U width) { return (lane() & (width - 1)) + by >= width ? lane() : lane() + by; }
inline U across(U mask, U width) {
  return (lane() ^ mask) >= ((lane() + width) & ~(width - 1)) ? lane() : lane() ^ mask;
}
inline U shuffle(U place, U value, U from) { return static_cast<U>(at_wave_place(place, value, from, take)); }
}  // namespace reference

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

#define LOOP(name)
#define ITER(name)
#define SHFL(value, lane, width) __shfl(value, static_cast<I>(lane), static_cast<I>(width))
#define SHFL_UP(value, by, width) __shfl_up(value, by, static_cast<I>(width))
#define SHFL_DOWN(value, by, width) __shfl_down(value, by, static_cast<I>(width))
#define SHFL_XOR(value, mask, width) __shfl_xor(value, static_cast<I>(mask), static_cast<I>(width))
#define BALLOT(test) __ballot(test)
#define ANY(test) (__any(test) != 0)
#define ALL(test) (__all(test) != 0)
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
  static const Shape kShapes[] = {{37, 1, 1, 3}, {64, 1, 1, 2}, {7, 5, 1, 2},
                                  {13, 3, 2, 1}, {1, 1, 1, 3},  {100, 1, 1, 2}};
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
