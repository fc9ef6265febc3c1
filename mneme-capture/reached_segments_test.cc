// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reached_segments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "fake_memory.h"

namespace mneme::capture {
namespace {

using bundle::kBlockSize;
using bundle::SegmentKind;
using testing::ElementsAre;

constexpr uint64_t kBase = kFakeBase;

// Four allocations with a gap behind each but the second, which an annotation cuts off the first; and a variable.
class Reached : public ::testing::Test {
 protected:
  static constexpr uint64_t kFirst = kBase, kCutOff = kBase + 256, kSecond = kBase + kBlockSize,
                            kThird = kBase + 2 * kBlockSize, kVariable = kBase + 4 * kBlockSize;

  Reached() { launch_.arguments = std::string(20, '\0'); }

  void put(uint64_t address, uint64_t word) { memory_.put(address, word); }
  void pass(size_t offset, uint64_t word) { std::memcpy(&launch_.arguments[offset], &word, sizeof word); }
  std::vector<uint64_t> reached(bool follows) {
    std::vector<uint64_t> addresses;
    for (const bundle::Segment& segment :
         reached_segments(launch_, follows, segments_, [&](const auto& segments) { return memory_.take(segments); })) {
      addresses.push_back(segment.address);
    }
    return addresses;
  }

  FakeMemory memory_{8};
  bundle::InstanceInfo launch_;
  std::vector<bundle::Segment> segments_ = {{kFirst, 256, SegmentKind::kHeap, {}, {}},
                                            {kCutOff, 256, SegmentKind::kHeap, {}, {}},
                                            {kSecond, 512, SegmentKind::kHeap, {}, {}},
                                            {kThird, kBlockSize + 64, SegmentKind::kHeap, {}, {}},
                                            {kVariable, 64, SegmentKind::kGlobal, "table", {}}};
};

TEST_F(Reached, VariablesOfTheKernel) { EXPECT_THAT(reached(false), ElementsAre(kVariable)); }

TEST_F(Reached, WhatArgumentsPointInto) {
  pass(8, kSecond + 500);
  EXPECT_THAT(reached(false), ElementsAre(kSecond, kVariable));
  pass(8, kSecond + 512);
  EXPECT_THAT(reached(false), ElementsAre(kSecond, kVariable)) << "an end";
  pass(8, kSecond + 513);
  EXPECT_THAT(reached(false), ElementsAre(kVariable));
  pass(8, 0);
  pass(4, kSecond);
  EXPECT_THAT(reached(false), ElementsAre(kVariable)) << "no aligned word";
  pass(12, kSecond);
  EXPECT_THAT(reached(false), ElementsAre(kVariable));
}

TEST_F(Reached, AnAllocationThatIsCutIsWhole) {
  pass(0, kCutOff + 8);
  EXPECT_THAT(reached(false), ElementsAre(kFirst, kCutOff, kVariable));
}

TEST_F(Reached, TexturesMemory) {
  launch_.textures.emplace_back().address = kThird;
  EXPECT_THAT(reached(false), ElementsAre(kThird, kVariable));
}

TEST_F(Reached, PointersInMemoryIfTheyAreFollowed) {
  pass(0, kFirst);
  put(kCutOff + 16, kThird + 8);
  put(kThird + kBlockSize + 8, kSecond);  // in its second block
  EXPECT_THAT(reached(false), ElementsAre(kFirst, kCutOff, kVariable));
  EXPECT_THAT(reached(true), ElementsAre(kFirst, kCutOff, kSecond, kThird, kVariable));
}

TEST_F(Reached, PointersInVariables) {
  put(kVariable + 56, kSecond);
  EXPECT_THAT(reached(false), ElementsAre(kVariable));
  EXPECT_THAT(reached(true), ElementsAre(kSecond, kVariable));
  put(kSecond, kVariable);  // in a circle
  EXPECT_THAT(reached(true), ElementsAre(kSecond, kVariable));
}

}  // namespace
}  // namespace mneme::capture
