// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory by descriptors, as libraries of matrix kernels have it: what is out of range is zero when loaded, and not
// stored. By LLVM's intrinsics, by clang's built-ins and in assembly.
#include "check.h"

typedef int Four __attribute__((ext_vector_type(4)));
typedef float FourFloats __attribute__((ext_vector_type(4)));

__device__ float load_word(Four descriptor, int offset, int scalar, int hints) __asm("llvm.amdgcn.raw.buffer.load.f32");
__device__ FourFloats load_four(Four descriptor, int offset, int scalar,
                                int hints) __asm("llvm.amdgcn.raw.buffer.load.v4f32");
__device__ void store_word(float value, Four descriptor, int offset, int scalar,
                           int hints) __asm("llvm.amdgcn.raw.buffer.store.f32");

constexpr int kRows = 10, kColumns = 13, kTile = 16, kFlags = 0x00020000;

__device__ Four descriptor_of(const void* base, unsigned bytes) {
  uint64_t address = reinterpret_cast<uintptr_t>(base);
  return Four{static_cast<int>(address), static_cast<int>(address >> 32), static_cast<int>(bytes), kFlags};
}

// A matrix of odd size by tiles that reach beyond it: where a column is out of range the offset is, too.
__global__ void scale(const float* in, float* out) {
  Four from = descriptor_of(in, kRows * kColumns * sizeof(float)),
       to = descriptor_of(out, kRows * kColumns * sizeof(float));
  int row = static_cast<int>(threadIdx.y), column = static_cast<int>(threadIdx.x);
  int offset = (row * kColumns + column) * static_cast<int>(sizeof(float));
  if (column >= kColumns) offset = static_cast<int>(0x80000000u);
  float x = load_word(from, offset, 0, 0);
  store_word(2 * x + 1, to, offset, 0, 0);
}

// Four at a time; the last four are there in part.
__global__ void sum_of_fours(const float* in, float* out, int count) {
  int t = static_cast<int>(threadIdx.x);
  Four from = descriptor_of(in, static_cast<unsigned>(count) * sizeof(float));
  FourFloats mine = load_four(from, t * 16, 0, 0), next;
#ifdef __OPTIMIZE__  // without, clang keeps the descriptor where the instruction cannot have it
  asm volatile("buffer_load_dwordx4 %0, %1, %2, 0 offen offset:16\n\ts_waitcnt vmcnt(0)"
               : "=v"(next)
               : "v"(t * 16), "s"(from)
               : "memory");
#else
  next = load_four(from, t * 16 + 16, 0, 0);
#endif
  out[t] = mine.x + 2 * mine.y + 4 * mine.z + 8 * mine.w + 16 * (next.x + next.w);
}

__global__ void reverse(const float* in, unsigned* out, int count) {
  auto from = __builtin_amdgcn_make_buffer_rsrc(const_cast<float*>(in), 0, count * 4, kFlags);
  auto to = __builtin_amdgcn_make_buffer_rsrc(out, 0, count * 4, kFlags);
  int t = static_cast<int>(threadIdx.x);
  unsigned bits = __builtin_amdgcn_raw_buffer_load_b32(from, t * 4, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b32(bits, to, (count - 1 - t) * 4, 0, 0);
}

int main() {
  Test test("buffer_descriptors");
  std::vector<float> numbers(kRows * kTile);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i * 37 % 101) - 50.0f;
  float *in = to_device(numbers), *out = to_device(std::vector<float>(numbers.size(), -7.0f));
  scale<<<1, dim3(kTile, kTile)>>>(in, out);
  std::vector<float> want(numbers.size(), -7.0f);
  for (int i = 0; i < kRows * kColumns; ++i) want[i] = 2 * numbers[i] + 1;
  test.equal("scaled", to_host(out, numbers.size()), want);

  constexpr int kCount = 150, kThreads = 40;
  sum_of_fours<<<1, kThreads>>>(in, out, kCount);
  auto number = [&](int i) { return i < kCount ? numbers[i] : 0.0f; };
  for (int t = 0; t < kThreads; ++t) {
    want[t] = number(4 * t) + 2 * number(4 * t + 1) + 4 * number(4 * t + 2) + 8 * number(4 * t + 3) +
              16 * (number(4 * t + 4) + number(4 * t + 7));
  }
  test.equal("sums", to_host(out, numbers.size()), want);

  unsigned* bits = to_device(std::vector<unsigned>(64, 1));
  reverse<<<1, 64>>>(in, bits, 50);
  std::vector<unsigned> reversed(64, 1);
  for (int i = 0; i < 50; ++i) std::memcpy(&reversed[49 - i], &numbers[i], 4);
  test.equal("reversed", to_host(bits, 64), reversed);
  check(hipFree(in));
  check(hipFree(out));
  check(hipFree(bits));
  return test.finish();
}
