// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the GPU does to memory itself. By the compiler's builtins alone, without the vendor's headers.
#include "blocks.h"

#define KERNEL extern "C" __attribute__((global))
#define SHARED __attribute__((shared))
#define DEVICE __attribute__((device))

using mneme::device::cuda::kBytes;
using mneme::device::cuda::kThreads;
using Word = unsigned long long;

// As much as a thread reads and writes at once.
struct alignas(16) Words {
  Word first, second;
};

// A copy is read for once: what the kernel works on stays in the cache rather than that.
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
  unsigned thread = __nvvm_read_ptx_sreg_tid_x(), block = __nvvm_read_ptx_sreg_ctaid_x();
  if (thread == 0) total = 0;
  memory += Word{block} * kWords + thread;
  copy += Word{block} * kWords + thread;
  unsigned differ = 0;
#pragma unroll
  for (unsigned i = 0; i < kWords; i += kThreads) differ += count_bytes(memory[i] ^ passing(copy + i));
  __syncthreads();
  if (differ) __atomic_fetch_add(&total, differ, __ATOMIC_RELAXED);
  __syncthreads();
  if (thread == 0) out[block] = total;
}

// Memory becomes what the copy has: kThreads threads for so many bytes.
KERNEL void put_back(Words* memory, const Words* copy, unsigned bytes) {
  const unsigned words = bytes / sizeof(Words);
  unsigned thread = __nvvm_read_ptx_sreg_tid_x(), block = __nvvm_read_ptx_sreg_ctaid_x();
  memory += Word{block} * words + thread;
  copy += Word{block} * words + thread;
  for (unsigned i = 0; i < words; i += kThreads) memory[i] = passing(copy + i);
}

// Translates words that are addresses: kThreads threads for a block of kBytes. The ways are in order and disjoint.
KERNEL void translate(Word* words, const mneme::device::cuda::Way* ways, unsigned count) {
  constexpr unsigned kWords = kBytes / sizeof(Word);
  unsigned thread = __nvvm_read_ptx_sreg_tid_x(), block = __nvvm_read_ptx_sreg_ctaid_x();
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
