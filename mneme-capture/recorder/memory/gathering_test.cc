// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/memory/gathering.h"

#include <gmock/gmock.h>

#include "bundle/format.h"

namespace mneme::record {
namespace {

using bundle::kBlockSize;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kBase = 0x400000000000;

// So many pieces of so many bytes, with as much between them.
std::vector<Piece> pieces(size_t count, uint64_t size) {
  std::vector<Piece> all;
  for (size_t i = 0; i < count; ++i) all.push_back({kBase + 2 * i * size, size, 0});
  return all;
}

TEST(Gathering, IsOfEachBlockInTurn) {
  std::vector<Piece> some = pieces(20, kBlockSize);
  some[3].size = 2 * kBlockSize;
  std::vector<uint64_t> blocks = blocks_to_gather(some);
  ASSERT_THAT(blocks, SizeIs(21));
  EXPECT_EQ(blocks[2], some[2].address);
  EXPECT_EQ(blocks[3], some[3].address);
  EXPECT_EQ(blocks[4], some[3].address + kBlockSize);
  EXPECT_EQ(blocks[5], some[4].address);
}

TEST(Gathering, IsNotOfWhatAFewCopiesBring) {
  EXPECT_THAT(blocks_to_gather({}), IsEmpty());
  EXPECT_THAT(blocks_to_gather(pieces(2, kBlockSize)), IsEmpty());
  EXPECT_THAT(blocks_to_gather(pieces(16, 16 * kBlockSize)), IsEmpty()) << "large ones";
}

TEST(Gathering, IsOfWholeBlocksOnly) {
  std::vector<Piece> some = pieces(20, kBlockSize);
  some[7].size = kBlockSize - 16;
  EXPECT_THAT(blocks_to_gather(some), IsEmpty());
  some = pieces(20, kBlockSize);
  some[7].address += 16;
  EXPECT_THAT(blocks_to_gather(some), IsEmpty());
}

}  // namespace
}  // namespace mneme::record
