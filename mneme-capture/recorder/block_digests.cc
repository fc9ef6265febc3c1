// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/block_digests.h"

#include <algorithm>
#include <cstdio>
#include <memory>

#include "recorder/helping_threads.h"

namespace mneme::record {

using bundle::kBlockSize;

namespace {
constexpr uint64_t kShare = 256;  // blocks that are worth a thread
}

std::vector<MemoryRange> readable_memory() {
  std::vector<MemoryRange> ranges;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> maps(std::fopen("/proc/self/maps", "re"), std::fclose);
  if (!maps) return ranges;
  char line[8192];
  while (std::fgets(line, sizeof line, maps.get())) {
    unsigned long begin = 0, end = 0;
    char readable = 0;
    if (std::sscanf(line, "%lx-%lx %c", &begin, &end, &readable) != 3 || readable != 'r') continue;
    if (!ranges.empty() && ranges.back().address + ranges.back().size == begin) {
      ranges.back().size += end - begin;
    } else {
      ranges.push_back({begin, end - begin});
    }
  }
  return ranges;
}

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
    threads.start(run.blocks.size(), kShare, [&](uint64_t first, uint64_t last) {
      for (; first < last; ++first) run.blocks[first] = digest_of(Bytes(first_block + first * kBlockSize, kBlockSize));
    });
    threads.join();
    all.push_back(std::move(run));
  }
  return all;
}

}  // namespace mneme::record
