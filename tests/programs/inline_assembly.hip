// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instructions that HIP libraries write out: conversions and packed arithmetic of half precision, dot products, values
// of other lanes, comparisons, shared and global memory.
#include <algorithm>

#include "check.h"

constexpr unsigned kThreads = 128, kBlocks = 4, kCount = kThreads * kBlocks;

__device__ unsigned index() { return blockIdx.x * blockDim.x + threadIdx.x; }

// As the processors round: the bits of half precision.
__global__ void round_trip(const float* in, float* out) {
  unsigned i = index();
  float x = in[i], rounded, sum;
  asm volatile("v_cvt_f16_f32 %0, %1\n\tv_cvt_f32_f16 %0, %0" : "=v"(rounded) : "v"(x));
  asm("v_fma_f32 %0, %1, %2, %3;" : "=v"(sum) : "v"(rounded), "v"(2.0f), "v"(-x));
  asm("v_mul_f32 %0, 0.5, %0\n\tv_add_f32_e64 %0, |%1|, -%0" : "+v"(sum) : "v"(x));
  out[i] = sum;
}

__global__ void pack(const unsigned* in, unsigned* out) {
  unsigned i = index(), word = in[i], bytes, field, count;
  asm("v_perm_b32 %0, %1, %2, %3" : "=v"(bytes) : "v"(word), "v"(i), "v"(0x00040502));
  asm("v_bfe_u32 %0, %1, 7, %2" : "=v"(field) : "v"(word), "n"(9));
  asm("v_bcnt_u32_b32 %0, %1, 0" : "=v"(count) : "v"(word));
  asm("v_lshl_add_u32 %0, %0, 4, %1\n v_xor_b32 %0, %0, %2" : "+v"(count) : "v"(field), "v"(bytes));
  out[i] = count;
}

// The sum of 64 bits out of two of 32, and what a lane's neighbour has.
__global__ void carry(const unsigned* in, unsigned* out) {
  unsigned i = index(), low, high, other;
  asm("v_add_co_u32 %0, vcc, %2, %3\n\tv_addc_co_u32 %1, vcc, %4, 0, vcc"
      : "=&v"(low), "=v"(high)
      : "v"(in[i]), "v"(in[i]), "v"(i)
      : "vcc");
  asm("v_mov_b32_dpp %0, %1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf" : "=v"(other) : "v"(high));
  out[i] = low ^ (other << 8);
}

// The greatest of sixteen lanes, by rotations.
__global__ void greatest(const float* in, float* out) {
  unsigned i = index();
  float most = in[i];
#define ROTATE(n) asm("s_nop 1\n v_max_f32_dpp %0, %1, %2 row_ror:" #n : "=v"(most) : "v"(most), "v"(most))
  ROTATE(8);
  ROTATE(4);
  ROTATE(2);
  ROTATE(1);
  out[i] = most;
}

// A tile turned round in shared memory, four words at a time.
__global__ void turn(const unsigned* in, unsigned* out) {
  typedef unsigned Four __attribute__((ext_vector_type(4)));
  __shared__ unsigned tile[kThreads * 4];
  unsigned t = threadIdx.x, from = static_cast<unsigned>(reinterpret_cast<uintptr_t>(tile)) + t * 16,
           to = static_cast<unsigned>(reinterpret_cast<uintptr_t>(tile)) + (kThreads - 1 - t) * 16;
  const unsigned* mine = in + (blockIdx.x * kThreads + t) * 4;
  Four words;
  asm volatile("global_load_dwordx4 %0, %1, off\n\ts_waitcnt vmcnt(0)" : "=v"(words) : "v"(mine) : "memory");
  asm volatile("ds_write_b128 %0, %1\n\ts_waitcnt lgkmcnt(0)\n\ts_barrier" : : "v"(to), "v"(words) : "memory");
  asm volatile("ds_read_b128 %0, %1 offset:%2\n\ts_waitcnt lgkmcnt(0)" : "=v"(words) : "v"(from), "n"(0) : "memory");
  unsigned* there = out + (blockIdx.x * kThreads + t) * 4;
  asm volatile("global_store_dwordx4 %0, %1, off" : : "v"(there), "v"(words) : "memory");
}

__global__ void count(const unsigned* in, unsigned* out) {
  unsigned i = index(), one = 1, found;
  unsigned* place = out + in[i] % 8;
  asm volatile("global_atomic_add %0, %1, off" : : "v"(place), "v"(one) : "memory");
  asm volatile("v_cmp_gt_u32 vcc, %1, %2\n\tv_cndmask_b32 %0, 3, 5, vcc"
               : "=v"(found)
               : "v"(in[i] % 8), "v"(3)
               : "vcc");
  asm volatile("flat_atomic_umax %0, %1\n\ts_waitcnt vmcnt(0) lgkmcnt(0)" : : "v"(out + 8), "v"(found + i) : "memory");
}

int main() {
  Test test("inline_assembly");
  std::vector<unsigned> words(kCount * 4);
  unsigned state = 1;
  for (unsigned& word : words) word = state = state * 1664525u + 1013904223u;
  std::vector<float> numbers(kCount);
  for (unsigned i = 0; i < kCount; ++i) numbers[i] = static_cast<float>(static_cast<int>(words[i]) >> 12) / 4096.0f;
  float *in = to_device(numbers), *out = device_array<float>(kCount);
  unsigned *in_words = to_device(words), *out_words = device_array<unsigned>(kCount * 4);

  std::vector<float> want(kCount);
  round_trip<<<kBlocks, kThreads>>>(in, out);
  for (unsigned i = 0; i < kCount; ++i) {
    float rounded = static_cast<float>(static_cast<_Float16>(numbers[i]));
    want[i] = std::fabs(numbers[i]) - 0.5f * std::fma(rounded, 2.0f, -numbers[i]);
  }
  test.equal("rounded", to_host(out, kCount), want);
  greatest<<<kBlocks, kThreads>>>(in, out);
  for (unsigned i = 0; i < kCount; ++i) {
    want[i] = *std::max_element(&numbers[i & ~15u], &numbers[i & ~15u] + 16);
  }
  test.equal("greatest", to_host(out, kCount), want);

  std::vector<unsigned> wanted(kCount);
  pack<<<kBlocks, kThreads>>>(in_words, out_words);
  for (unsigned i = 0; i < kCount; ++i) {
    unsigned word = words[i];
    // The selector's bytes, the lowest first: 2 and 0 of the second operand, 5 and 4 (the upper two) of the first.
    unsigned bytes = (i >> 16 & 255) | (word >> 8 & 255) << 8 | (word & 255) << 16 | (i & 255) << 24;
    unsigned field = word >> 7 & 511, count = static_cast<unsigned>(__builtin_popcount(word));
    wanted[i] = ((count << 4) + field) ^ bytes;
  }
  test.equal("packed", to_host(out_words, kCount), wanted);
  carry<<<kBlocks, kThreads>>>(in_words, out_words);
  for (unsigned i = 0; i < kCount; ++i) {
    wanted[i] = 2 * words[i] ^ ((i ^ 1) + (words[i ^ 1] >> 31)) << 8;
  }
  test.equal("with carry", to_host(out_words, kCount), wanted);
  turn<<<kBlocks, kThreads>>>(in_words, out_words);
  std::vector<unsigned> turned(kCount * 4);
  for (unsigned i = 0; i < kCount * 4; ++i) {
    unsigned block = i / (kThreads * 4), t = i / 4 % kThreads;
    turned[i] = words[(block * kThreads + kThreads - 1 - t) * 4 + i % 4];
  }
  test.equal("turned", to_host(out_words, kCount * 4), turned);

  unsigned* counts = to_device(std::vector<unsigned>(9, 0));
  count<<<kBlocks, kThreads>>>(in_words, counts);
  std::vector<unsigned> counted(9, 0);
  for (unsigned i = 0; i < kCount; ++i) {
    ++counted[words[i] % 8];
    counted[8] = std::max(counted[8], (words[i] % 8 > 3 ? 5u : 3u) + i);
  }
  test.equal("counted", to_host(counts, 9), counted);
  for (void* memory : {static_cast<void*>(in), static_cast<void*>(out), static_cast<void*>(in_words),
                       static_cast<void*>(out_words), static_cast<void*>(counts)}) {
    check(hipFree(memory));
  }
  return test.finish();
}
