// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/memory/block_digests.h"

#include <algorithm>
#include <atomic>

#include "recorder/runtime/helping_threads.h"

namespace mneme::record {

using bundle::kBlockSize;

namespace {
constexpr uint64_t kShare = 256;  // blocks that are worth a thread
constexpr uint64_t kPiece = 16;   // that one takes at a time: one that has to wait for a processor leaves its to others
}  // namespace

std::vector<Digests> digests_of(const std::vector<MemoryRange>& memory, const std::vector<MemoryRange>& readable) {
  std::vector<Digests> all;
  for (const MemoryRange& piece : memory) {
    for (const MemoryRange& range : readable) {
      uint64_t begin = std::max(range.address, piece.address);
      uint64_t end = std::min(range.address + range.size, piece.address + piece.size);
      begin = (begin + kBlockSize - 1) / kBlockSize * kBlockSize;
      if (begin + kBlockSize > end) continue;
      all.push_back({begin, std::vector<Digest>((end - begin) / kBlockSize)});
    }
  }
  struct Block {
    const std::byte* bytes;
    Digest* digest;
  };
  std::vector<Block> blocks;
  for (Digests& run : all) {
    const auto* bytes = reinterpret_cast<const std::byte*>(run.address);
    for (Digest& digest : run.blocks) {
      blocks.push_back({bytes, &digest});
      bytes += kBlockSize;
    }
  }
  HelpingThreads threads;
  std::atomic<uint64_t> next = 0;
  threads.start(blocks.size(), kShare, [&](uint64_t, uint64_t) {
    for (uint64_t first; (first = next.fetch_add(kPiece)) < blocks.size();) {
      const uint64_t last = std::min<uint64_t>(first + kPiece, blocks.size());
      for (; first < last; ++first) *blocks[first].digest = digest_of(Bytes(blocks[first].bytes, kBlockSize));
    }
  });
  threads.join();
  return all;
}

}  // namespace mneme::record
