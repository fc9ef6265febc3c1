// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/block_digests.h"

#include <algorithm>
#include <atomic>

#include "recorder/helping_threads.h"

namespace mneme::record {

using bundle::kBlockSize;

namespace {
constexpr uint64_t kShare = 256;  // blocks that are worth a thread
constexpr uint64_t kPiece = 16;   // that one takes at a time: one that has to wait for a processor leaves its to others
}  // namespace

std::vector<Digests> digests_of(MemoryRange memory, const std::vector<MemoryRange>& readable) {
  std::vector<Digests> all;
  for (const MemoryRange& range : readable) {
    uint64_t begin = std::max(range.address, memory.address);
    uint64_t end = std::min(range.address + range.size, memory.address + memory.size);
    begin = (begin + kBlockSize - 1) / kBlockSize * kBlockSize;
    if (begin + kBlockSize > end) continue;
    Digests run{begin, std::vector<Digest>((end - begin) / kBlockSize)};
    const auto* first_block = reinterpret_cast<const std::byte*>(begin);
    HelpingThreads threads;
    std::atomic<uint64_t> next = 0;
    threads.start(run.blocks.size(), kShare, [&](uint64_t, uint64_t) {
      for (uint64_t first; (first = next.fetch_add(kPiece)) < run.blocks.size();) {
        const uint64_t last = std::min<uint64_t>(first + kPiece, run.blocks.size());
        for (; first < last; ++first)
          run.blocks[first] = digest_of(Bytes(first_block + first * kBlockSize, kBlockSize));
      }
    });
    threads.join();
    all.push_back(std::move(run));
  }
  return all;
}

}  // namespace mneme::record
