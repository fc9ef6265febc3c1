// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/layout.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace mneme::verify {
namespace {

constexpr uint64_t kBlock = bundle::kBlockSize;
constexpr uint64_t kBase = 0x400000000000;

bundle::Segment segment(uint64_t address, uint64_t size) {
  bundle::Segment out;
  out.address = address;
  out.size = size;
  return out;
}

Layout layout(std::vector<bundle::Segment> segments) { return Layout(segments); }

TEST(Layout, RoundsToBlocksAndMerges) {
  Layout l = layout({segment(kBase + 256, 10), segment(kBase + 512, kBlock), segment(kBase + 2 * kBlock, 1),
                     segment(kBase + 5 * kBlock - 1, 2)});
  EXPECT_EQ(l.ranges(), (std::vector<Range>{{kBase, 3 * kBlock}, {kBase + 4 * kBlock, 2 * kBlock}}));
  EXPECT_EQ(l.segment_bytes(), 10 + kBlock + 1 + 2);
  EXPECT_EQ(l.block_bytes(), 5 * kBlock);
}

TEST(Layout, KnowsWhatItCovers) {
  Layout l = layout({segment(kBase + 256, 10), segment(kBase + 4 * kBlock, 1)});
  EXPECT_TRUE(l.covers(kBase));
  EXPECT_FALSE(l.covers(kBase - kBlock));
  EXPECT_FALSE(l.covers(kBase + kBlock));
  EXPECT_TRUE(l.covers(kBase + 4 * kBlock));
  EXPECT_FALSE(l.covers(0));
  EXPECT_FALSE(layout({}).covers(0));
}

TEST(Layout, CutsBlocksIntoPieces) {
  Layout l = layout({segment(kBase + 256, 10), segment(kBase + 512, kBlock)});
  std::vector<Piece> first = l.pieces(kBase);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].segment, 0u);
  EXPECT_EQ(first[0].in_block, 256u);
  EXPECT_EQ(first[0].size, 10u);
  EXPECT_EQ(first[1].in_block, 512u);
  EXPECT_EQ(first[1].in_segment, 0u);
  EXPECT_EQ(first[1].size, kBlock - 512);
  std::vector<Piece> second = l.pieces(kBase + kBlock);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].segment, 1u);
  EXPECT_EQ(second[0].in_block, 0u);
  EXPECT_EQ(second[0].in_segment, kBlock - 512);
  EXPECT_EQ(second[0].size, 512u);
  EXPECT_TRUE(l.pieces(kBase + 2 * kBlock).empty());
}

TEST(Layout, RefusesImpossibleSegments) {
  EXPECT_THROW(layout({segment(kBase, 100), segment(kBase + 99, 1)}), Error);
  EXPECT_THROW(layout({segment(kBase + kBlock, 1), segment(kBase, 1)}), Error);
  EXPECT_THROW(layout({segment(UINT64_MAX - 10, 20)}), Error);
  EXPECT_THROW(layout({segment(kBase, UINT64_MAX)}), Error);
}

TEST(Layout, IgnoresEmptySegments) { EXPECT_TRUE(layout({segment(kBase, 0)}).ranges().empty()); }

}  // namespace
}  // namespace mneme::verify
