// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/baseline.h"

#include <gtest/gtest.h>

namespace mneme::run {
namespace {

constexpr uint64_t kBlock = bundle::kBlockSize;
constexpr uint64_t kBase = 0x400000000000;

// Two blocks of zeros, of which the first 8 bytes of the second belong to no segment.
struct Repeated : testing::Test {
  verify::Layout layout{std::vector<bundle::Segment>{{kBase, kBlock, bundle::SegmentKind::kHeap, "", ""},
                                                     {kBase + kBlock + 8, 64, bundle::SegmentKind::kHeap, "", ""}}};
  verify::Readings readings{std::nullopt, std::nullopt};
  std::string recorded = std::string(kBlock, '\0');
  std::optional<Repetitions> made;

  void SetUp() override { make(64 << 20); }
  void make(uint64_t max_difference) {
    made.emplace(layout, readings, verify::no_scale, max_difference,
                 [this](const Digest&) { return bytes_of(recorded); });
  }

  struct Byte {
    uint64_t at;
    char value;
  };
  // An execution that leaves these bytes, of both blocks, otherwise than recorded.
  void execute(std::initializer_list<Byte> bytes) {
    made->begin_execution();
    for (uint64_t i = 0; i < 2; i++) {
      std::string left = recorded;
      for (const Byte& byte : bytes) {
        if (byte.at / kBlock == i) left[byte.at % kBlock] = byte.value;
      }
      made->take(kBase + i * kBlock, digest_of(recorded), bytes_of(left), left != recorded);
    }
    made->end_execution();
  }
};

TEST_F(Repeated, AllAreComparedWithTheFirst) {
  execute({{5, 1}});
  execute({{5, 2}, {6, 9}});
  execute({});
  execute({{5, 1}});
  bundle::Baseline baseline = made->result();
  EXPECT_EQ(baseline.executions, 4u);
  ASSERT_EQ(baseline.spread.size(), 1u);
  EXPECT_EQ(baseline.spread[0], (bundle::SegmentDifference{kBase, 2, 5, 1, 2}));
  ASSERT_EQ(baseline.blocks.size(), 1u);
  EXPECT_EQ(baseline.blocks[0].bytes, digest_of(made->variation().at(kBase)));
  EXPECT_EQ(baseline.unlike, 0u);
}

TEST_F(Repeated, WhatAllLeaveAlikeIsUnlike) {
  for (char i = 1; i < 4; i++) execute({{5, 1}, {6, i}, {kBlock + 7, 1}, {kBlock + 8, 1}});
  bundle::Baseline baseline = made->result();
  EXPECT_EQ(baseline.unlike, 2u) << "of the segments";
  EXPECT_EQ(baseline.spread.at(0).bytes, 1u);
}

TEST_F(Repeated, BytesOfNoSegmentAreNoDifference) {
  for (char i = 1; i < 4; i++) execute({{kBlock + 7, i}});
  EXPECT_TRUE(made->result().spread.empty());
}

TEST_F(Repeated, BeyondTheLimitNothingVaries) {
  make(2 * kBlock);
  for (char i = 1; i < 4; i++) execute({{5, i}, {kBlock + 9, i}});
  bundle::Baseline baseline = made->result();
  EXPECT_FALSE(baseline.blocks_complete);
  ASSERT_EQ(baseline.blocks.size(), 1u);
  EXPECT_EQ(baseline.blocks[0].address, kBase);
  EXPECT_EQ(baseline.spread.size(), 1u);
}

TEST_F(Repeated, ALimitMetLaterHoldsFromThen) {
  make(2 * kBlock);
  execute({});
  execute({{kBlock + 9, 1}});
  execute({{5, 1}, {kBlock + 10, 1}});
  bundle::Baseline baseline = made->result();
  EXPECT_FALSE(baseline.blocks_complete);
  ASSERT_EQ(baseline.blocks.size(), 1u);
  EXPECT_EQ(baseline.blocks[0].address, kBase + kBlock) << "what was marked stays";
  EXPECT_EQ(baseline.spread.size(), 1u);
}

}  // namespace
}  // namespace mneme::run
