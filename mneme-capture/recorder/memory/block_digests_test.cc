// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/memory/block_digests.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "recorder/memory/own_memory.h"

namespace mneme::record {
namespace {

using bundle::kBlockSize;

TEST(BlockDigests, AreOfWholeBlocksThatCanBeRead) {
  constexpr uint64_t kBlocks = 6, kPage = 4096;
  const uint64_t size = (kBlocks + 1) * kBlockSize;
  void* mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  std::memset(mapped, 7, size);
  uint64_t first = (reinterpret_cast<uint64_t>(mapped) + kBlockSize - 1) / kBlockSize * kBlockSize;
  auto at = [&](uint64_t block) { return reinterpret_cast<char*>(first + block * kBlockSize); };
  at(1)[5] = 1;
  const Digest plain = digest_of(std::string(kBlockSize, 7));

  // Registered from the middle of a block to the middle of another one; of a third one a page is gone, of a fourth one
  // not to be read.
  ::munmap(at(2) + kPage, kPage);
  ::mprotect(at(4) - kPage, kPage, PROT_NONE);
  std::vector<Digests> runs = digests_of({{first + 100, (kBlocks - 1) * kBlockSize}}, readable_memory());
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].address, first + kBlockSize);
  ASSERT_EQ(runs[0].blocks.size(), 1u);
  EXPECT_NE(runs[0].blocks[0], plain);
  EXPECT_EQ(runs[1].address, first + 4 * kBlockSize);
  EXPECT_EQ(runs[1].blocks, std::vector{plain});
  EXPECT_TRUE(digests_of({{first + 1, kBlockSize}}, readable_memory()).empty());
  ::munmap(mapped, size);
}

}  // namespace
}  // namespace mneme::record
