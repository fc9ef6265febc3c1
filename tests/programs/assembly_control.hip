// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Assembly that jumps and switches lanes off, as HIP libraries have it: loads and stores under a mask, loops over the
// lanes of a wave, loads to shared memory.
#include "check.h"

constexpr unsigned kThreads = 128, kBlocks = 4, kWave = 64, kKeys = 11;
typedef unsigned Four __attribute__((ext_vector_type(4)));

// The descriptor of an array, in registers 12 to 15.
#define DESCRIPTOR(low, high, bytes) \
  "v_readfirstlane_b32 s12, " low    \
  "\n\t"                             \
  "v_readfirstlane_b32 s13, " high   \
  "\n\t"                             \
  "v_readfirstlane_b32 s14, " bytes  \
  "\n\t"                             \
  "s_mov_b32 s15, 0x27000\n\t"       \
  "s_nop 4\n\t"
__device__ unsigned low_half(const unsigned* array) {
  return static_cast<unsigned>(reinterpret_cast<uintptr_t>(array));
}
__device__ unsigned high_half(const unsigned* array) {
  return static_cast<unsigned>(reinterpret_cast<uintptr_t>(array) >> 32);
}

// Every third thread loads four words; the sums of the others' are changed. Words behind the array are zero.
__global__ void masked(const unsigned* in, unsigned* out, unsigned words) {
  unsigned i = blockIdx.x * kThreads + threadIdx.x, flag = i % 3 == 0, from = i * 16;
  Four value = {i, 1, 2, 3};
  asm volatile(
      DESCRIPTOR("%2", "%3", "%4")
      "s_mov_b64 s[20:21], exec\n\t"
      "v_cmpx_le_u32 exec, 1, %5\n\t"
      "buffer_load_dwordx4 %0, %1, s[12:15], 0 offen\n\t"
      "s_mov_b64 exec, s[20:21]\n\t"
      "s_waitcnt vmcnt(0)"
      : "+v"(value)
      : "v"(from), "v"(low_half(in)), "v"(high_half(in)), "v"(words * 4), "v"(flag)
      : "s12", "s13", "s14", "s15", "s20", "s21", "memory");
  unsigned sum = value.x + value.y + value.z + value.w;
  asm volatile(
      "v_cmp_ne_u32 vcc, 1, %1\n\t"
      "s_and_saveexec_b64 s[20:21], vcc\n\t"
      "v_xor_b32 %0, 0x55, %0\n\t"
      "s_or_b64 exec, exec, s[20:21]"
      : "+v"(sum)
      : "v"(flag)
      : "vcc", "scc", "s20", "s21");
  out[i] = sum;
}

// A round for each key among a wave's lanes: which lanes have the same, and in which round that was.
__global__ void alike(const unsigned* in, unsigned* out, unsigned count) {
  unsigned i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  unsigned key = in[i] % kKeys, low, high, round;
  asm volatile(
      "s_mov_b64 s[20:21], exec\n\t"
      "s_mov_b32 s23, 0\n"
      "round_%=:\n\t"
      "s_addk_i32 s23, 1\n\t"
      "v_readfirstlane_b32 s22, %3\n\t"
      "v_cmp_eq_u32 vcc, s22, %3\n\t"
      "s_and_saveexec_b64 s[24:25], vcc\n\t"
      "v_mov_b32 %0, exec_lo\n\t"
      "v_mov_b32 %1, exec_hi\n\t"
      "v_mov_b32 %2, s23\n\t"
      "s_xor_b64 exec, exec, s[24:25]\n\t"
      "s_cbranch_execnz round_%=\n\t"
      "s_mov_b64 exec, s[20:21]"
      : "=&v"(low), "=&v"(high), "=&v"(round)
      : "v"(key)
      : "s20", "s21", "s22", "s23", "s24", "s25", "vcc", "scc");
  unsigned below = __builtin_amdgcn_mbcnt_hi(high, __builtin_amdgcn_mbcnt_lo(low, 0));
  out[i] = round << 16 | below << 8 | static_cast<unsigned>(__popc(low) + __popc(high));
}

// Each lane in turn adds its word, the lowest first.
__global__ void in_turn(const unsigned* in, unsigned* out) {
  unsigned i = blockIdx.x * kThreads + threadIdx.x, word = in[i], sum = 0;
  asm volatile(
      "s_mov_b64 s[20:21], exec\n\t"
      "s_mov_b32 s23, 0\n"
      "1:\n\t"
      "s_ff1_i32_b64 s22, s[20:21]\n\t"
      "v_readlane_b32 s24, %1, s22\n\t"
      "s_add_u32 s23, s23, s24\n\t"
      "s_mov_b32 m0, s22\n\t"
      "s_nop 1\n\t"
      "v_writelane_b32 %0, s23, m0\n\t"
      "s_bitset0_b64 s[20:21], s22\n\t"
      "s_cmp_lg_u64 s[20:21], 0\n\t"
      "s_cbranch_scc1 1b"
      : "+v"(sum)
      : "v"(word)
      : "s20", "s21", "s22", "s23", "s24", "scc");
  out[i] = sum;
}

// Words go to shared memory without a register between.
__global__ void staged(const unsigned* in, unsigned* out, unsigned words) {
  __shared__ unsigned tile[kThreads];
  unsigned t = threadIdx.x, from = (blockIdx.x * kThreads + t) * 4;
  unsigned place = static_cast<unsigned>(reinterpret_cast<uintptr_t>(tile)) + t / kWave * kWave * 4;
  asm volatile(
      DESCRIPTOR("%2", "%3", "%4")
      "v_readfirstlane_b32 m0, %0\n\t"
      "s_nop 4\n\t"
      "buffer_load_dword %1, s[12:15], 0 offen lds\n\t"
      "s_waitcnt vmcnt(0)"
      :
      : "v"(place), "v"(from), "v"(low_half(in)), "v"(high_half(in)), "v"(words * 4)
      : "s12", "s13", "s14", "s15", "memory");
  __syncthreads();
  out[blockIdx.x * kThreads + t] = tile[kThreads - 1 - t];
}

int main() {
  Test test("assembly_control");
  constexpr unsigned kCount = kThreads * kBlocks, kSome = kCount - 40;
  std::vector<unsigned> words(kCount * 4), want(kCount);
  Random random(11);
  for (unsigned& word : words) word = random.below(1u << 20);
  unsigned *in = to_device(words), *out = to_device(want);

  masked<<<kBlocks, kThreads>>>(in, out, kCount * 4 - 8);
  for (unsigned i = 0; i < kCount; ++i) {
    bool inside = i < kCount - 2;
    unsigned loaded = inside ? words[4 * i] + words[4 * i + 1] + words[4 * i + 2] + words[4 * i + 3] : 0;
    want[i] = i % 3 == 0 ? loaded : (i + 6) ^ 0x55;
  }
  test.equal("masked", to_host(out, kCount), want);

  alike<<<kBlocks, kThreads>>>(in, out, kSome);
  for (unsigned i = 0; i < kSome; ++i) {
    unsigned first = i / kWave * kWave, lanes = 0, below = 0, round = 0;
    std::vector<bool> seen(kKeys);
    for (unsigned j = first; j < first + kWave && j < kSome; ++j) {
      unsigned key = words[j] % kKeys;
      bool same = key == words[i] % kKeys;
      lanes += same, below += same && j < i;
      // Keys come in the order of their first lanes.
      bool before = j <= i && !seen[key] && !seen[words[i] % kKeys];
      round += before;
      seen[key] = true;
    }
    want[i] = round << 16 | below << 8 | lanes;
  }
  test.equal("alike", to_host(out, kCount), want);

  in_turn<<<kBlocks, kThreads>>>(in, out);
  for (unsigned i = 0; i < kCount; ++i) want[i] = words[i] + (i % kWave ? want[i - 1] : 0);
  test.equal("in turn", to_host(out, kCount), want);

  staged<<<kBlocks, kThreads>>>(in, out, kCount * 4);
  for (unsigned i = 0; i < kCount; ++i) want[i] = words[i / kThreads * kThreads + kThreads - 1 - i % kThreads];
  test.equal("staged", to_host(out, kCount), want);

  for (unsigned* memory : {in, out}) check(hipFree(memory));
  return test.finish();
}
