// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counts, for each block of two pieces of memory, the bytes that differ: kThreads threads for a block. By the
// compiler's builtins alone, without the vendor's headers.
#include "blocks.h"

#define KERNEL extern "C" __attribute__((global))
#define SHARED __attribute__((shared))
#define DEVICE __attribute__((device))

using mneme::device::cuda::kBytes;
using mneme::device::cuda::kThreads;
using Word = unsigned long long;

// Bytes that are not zero.
DEVICE inline unsigned count_bytes(Word word) {
  constexpr Word kLow = 0x7f7f7f7f7f7f7f7f;
  Word high = (((word & kLow) + kLow) | word) & ~kLow;
  return static_cast<unsigned>(__builtin_popcountll(high));
}

KERNEL void count_differences(const Word* first, const Word* second, unsigned* out) {
  constexpr unsigned kWords = kBytes / sizeof(Word);
  SHARED static unsigned total;
  unsigned thread = __nvvm_read_ptx_sreg_tid_x(), block = __nvvm_read_ptx_sreg_ctaid_x();
  if (thread == 0) total = 0;
  first += Word{block} * kWords + thread;
  second += Word{block} * kWords + thread;
  unsigned differ = 0;
#pragma unroll
  for (unsigned i = 0; i < kWords; i += kThreads) differ += count_bytes(first[i] ^ second[i]);
  __syncthreads();
  if (differ) __atomic_fetch_add(&total, differ, __ATOMIC_RELAXED);
  __syncthreads();
  if (thread == 0) out[block] = total;
}
