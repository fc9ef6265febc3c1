// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the GPU does to memory itself. By the compiler's builtins alone, without the vendor's headers.
#include "blocks.h"

#define KERNEL extern "C" __attribute__((global))
#define SHARED __attribute__((shared))
#define DEVICE __attribute__((device))

using mneme::device::gpu::kBytes;
using mneme::device::gpu::kThreads;
using Word = unsigned long long;

// As much as a thread reads and writes at once.
struct alignas(16) Words {
  Word first, second;
};

// passing(): a copy is read for once: what the kernel works on stays in the cache rather than that.
#ifdef __NVPTX__
DEVICE inline unsigned work_item() { return __nvvm_read_ptx_sreg_tid_x(); }
DEVICE inline unsigned work_group() { return __nvvm_read_ptx_sreg_ctaid_x(); }
DEVICE inline void barrier() { __syncthreads(); }
DEVICE inline Word passing(const Word* word) {
  Word value;
  asm("ld.global.cs.u64 %0, [%1];" : "=l"(value) : "l"(word));
  return value;
}
DEVICE inline Words passing(const Words* words) {
  Words value;
  asm("ld.global.cs.v2.u64 {%0, %1}, [%2];" : "=l"(value.first), "=l"(value.second) : "l"(words));
  return value;
}
DEVICE inline void add(unsigned* sum, unsigned number) { __atomic_fetch_add(sum, number, __ATOMIC_RELAXED); }
#else
DEVICE inline unsigned work_item() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE inline unsigned work_group() { return __builtin_amdgcn_workgroup_id_x(); }
DEVICE inline void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
DEVICE inline Word passing(const Word* word) { return __builtin_nontemporal_load(word); }
DEVICE inline Words passing(const Words* words) {
  using Pair = Word __attribute__((ext_vector_type(2)));
  return __builtin_bit_cast(Words, __builtin_nontemporal_load(reinterpret_cast<const Pair*>(words)));
}
DEVICE inline void add(unsigned* sum, unsigned number) {
  __hip_atomic_fetch_add(sum, number, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
}
#endif

// Bytes that are not zero.
DEVICE inline unsigned count_bytes(Word word) {
  constexpr Word kLow = 0x7f7f7f7f7f7f7f7f;
  Word high = (((word & kLow) + kLow) | word) & ~kLow;
  return static_cast<unsigned>(__builtin_popcountll(high));
}

// Counts, for each block of memory and of a copy, the bytes that differ: kThreads threads for a block.
KERNEL void count_differences(const Word* memory, const Word* copy, unsigned* out) {
  constexpr unsigned kWords = kBytes / sizeof(Word);
  SHARED static unsigned total;
  unsigned thread = work_item(), block = work_group();
  if (thread == 0) total = 0;
  memory += Word{block} * kWords + thread;
  copy += Word{block} * kWords + thread;
  unsigned differ = 0;
#pragma unroll
  for (unsigned i = 0; i < kWords; i += kThreads) differ += count_bytes(memory[i] ^ passing(copy + i));
  barrier();
  if (differ) add(&total, differ);
  barrier();
  if (thread == 0) out[block] = total;
}

// Memory becomes what the copy has: kThreads threads for so many bytes.
KERNEL void put_back(Words* memory, const Words* copy, unsigned bytes) {
  const unsigned words = bytes / sizeof(Words);
  unsigned thread = work_item(), block = work_group();
  memory += Word{block} * words + thread;
  copy += Word{block} * words + thread;
  for (unsigned i = 0; i < words; i += kThreads) memory[i] = passing(copy + i);
}

// Translates words that are addresses: kThreads threads for a block of kBytes. The ways are in order and disjoint.
KERNEL void translate(Word* words, const mneme::device::gpu::Way* ways, unsigned count) {
  constexpr unsigned kWords = kBytes / sizeof(Word);
  unsigned thread = work_item(), block = work_group();
  words += Word{block} * kWords + thread;
  Word lowest = ways[0].begin, highest = ways[count - 1].end;
  for (unsigned i = 0; i < kWords; i += kThreads) {
    Word word = words[i];
    if (word < lowest || word > highest) continue;
    unsigned low = 0, high = count;  // the last way that begins at the word or before it is in [low, high)
    while (high - low > 1) {
      unsigned middle = (low + high) / 2;
      (ways[middle].begin <= word ? low : high) = middle;
    }
    if (word <= ways[low].end) words[i] = word - ways[low].begin + ways[low].target;
  }
}
