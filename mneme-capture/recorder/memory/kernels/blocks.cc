// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a GPU does with blocks of its memory for the recorder. By the compiler's builtins alone, without the vendor's
// headers.
#include "digest.h"
#include "gather.h"

using namespace mneme::record::cuda;

// The digests of blocks that lie one behind the other, by kParts threads each. `out`: of each block, the digest's high
// half and its low half.
extern "C" __attribute__((global)) void digest_blocks(const Word* blocks, unsigned count, const DigestKeys* keys,
                                                      Word* out) {
  __attribute__((shared)) static DigestPart parts[kDigestThreads];
  unsigned thread = __nvvm_read_ptx_sreg_tid_x();
  unsigned block = __nvvm_read_ptx_sreg_ctaid_x() * (kDigestThreads / kParts) + thread / kParts;
  if (block < count) {
    parts[thread] = part_of_digest(blocks + Word{block} * kDigestedWords, thread % kParts, *keys);
  }
  __syncthreads();
  if (block >= count || thread % kParts != 0) return;
  DigestPart sum{0, 0};
  for (unsigned i = 0; i < kParts; i++) {
    sum.low += parts[thread + i].low;
    sum.high += parts[thread + i].high;
  }
  DigestPart digest = digest_of_parts(sum);
  out[2 * block] = digest.high;
  out[2 * block + 1] = digest.low;
}

// One block of memory a thread block. `out`: pinned memory of the host's.
extern "C" __attribute__((global)) void gather_blocks(Gathered from, Word* out) {
  using Pair = Word __attribute__((ext_vector_type(2)));
  unsigned block = __nvvm_read_ptx_sreg_ctaid_x();
  const auto* in = reinterpret_cast<const Pair*>(from.blocks[block]);
  auto* to = reinterpret_cast<Pair*>(out + Word{block} * kDigestedWords);
#pragma unroll 4
  for (unsigned i = __nvvm_read_ptx_sreg_tid_x(); i < kDigestedWords / 2; i += kGatherThreads) to[i] = in[i];
}
