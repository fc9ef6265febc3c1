// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/memory/segment_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mneme::record {
namespace {

using bundle::SegmentKind;

constexpr uint64_t kBase = 0x400000000000;

// As text: "offset+size" or "offset+size*count/stride", then the symbol and the annotation.
std::vector<std::string> text_of(const std::vector<WireSegment>& list) {
  std::vector<std::string> lines;
  for (const WireSegment& segment : list) {
    std::string line = fmt::format("{}+{}", segment.address - kBase, segment.size);
    if (segment.count > 1) line += fmt::format("*{}/{}", segment.count, segment.stride);
    lines.push_back(line + segment.symbol + segment.annotation);
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(SegmentList, ManyAlikeAreOne) {
  SegmentList list({});
  for (uint64_t i = 0; i < 1'000'000; ++i) list.add({kBase + i * 256, 200}, SegmentKind::kHeap);
  EXPECT_EQ(text_of(list.take()), Lines{"0+200*1000000/256"});
}

TEST(SegmentList, RunsEndWhereSomethingDiffers) {
  SegmentList list({});
  for (uint64_t at : {0, 256, 512, 1024, 1280}) list.add({kBase + at, 256}, SegmentKind::kHeap);
  list.add({kBase + 1536, 100}, SegmentKind::kHeap);
  list.add({kBase + 1792, 100}, SegmentKind::kHost);
  list.add({kBase + (uint64_t{1} << 40), 100}, SegmentKind::kHost);
  EXPECT_EQ(text_of(list.take()),
            (Lines{"0+256*3/256", "1024+256*2/256", "1536+100", "1792+100", "1099511627776+100"}));
}

TEST(SegmentList, VariablesAreCutOut) {
  SegmentList list({kBase + 256 * 3 + 16});
  for (uint64_t i = 0; i < 6; ++i) list.add({kBase + i * 256, 256}, SegmentKind::kHeap);
  list.name({kBase + 256 * 3 + 16, 8}, "v");
  EXPECT_EQ(text_of(list.take()), (Lines{"0+256*3/256", "768+16", "784+8v", "792+232", "1024+256*2/256"}));
}

TEST(SegmentList, NoRunReachesOverWhatStandsApart) {
  SegmentList list({kBase + 256});
  for (uint64_t i = 0; i < 3; ++i) list.add({kBase + i * 256, 256}, SegmentKind::kHeap);
  list.annotate(kBase + 256, "{}");
  list.add_apart({kBase - 4096, 64}, SegmentKind::kHost);
  EXPECT_EQ(text_of(list.take()), (Lines{"18446744073709547520+64", "0+256", "256+256{}", "512+256"}));
}

TEST(SegmentList, AnnotationsBeginSegments) {
  SegmentList list({kBase + 100, kBase + 512, kBase + 9999});
  list.add({kBase, 256}, SegmentKind::kHeap);
  list.add({kBase + 512, 64}, SegmentKind::kHeap);
  list.name({kBase + 512, 64}, "v");
  list.name({kBase + 9999, 8}, "nowhere");
  list.annotate(kBase + 100, "{a}");
  list.annotate(kBase + 512, "{b}");
  list.annotate(kBase + 9999, "{c}");
  EXPECT_THAT(list.annotated_in_part(), testing::IsEmpty());
  EXPECT_EQ(text_of(list.take()), (Lines{"0+100", "100+156{a}", "512+64v{b}"}));
}

TEST(SegmentList, AVariableIsAnnotatedAsAWholeOrNotAtAll) {
  const std::vector<std::vector<std::pair<uint64_t, std::string>>> in_part = {
      {{8, "{a}"}},              // the beginning is not
      {{0, "{a}"}, {8, ""}},     // the end is not
      {{0, "{a}"}, {8, "{b}"}},  // each in its own way
  };
  for (const auto& annotations : in_part) {
    SegmentList list({kBase, kBase + 8});
    list.add({kBase, 64}, SegmentKind::kHeap);
    list.name({kBase, 64}, "v");
    for (const auto& [offset, json] : annotations) list.annotate(kBase + offset, json);
    EXPECT_THAT(list.annotated_in_part(), testing::ElementsAre("v"));
    EXPECT_EQ(text_of(list.take()), Lines{"0+64v"});
  }
  SegmentList list({kBase, kBase + 8});
  list.add({kBase, 64}, SegmentKind::kHeap);
  list.name({kBase, 64}, "v");
  list.annotate(kBase, "");
  list.annotate(kBase + 8, "");
  EXPECT_THAT(list.annotated_in_part(), testing::IsEmpty()) << "nothing is lost";
}

}  // namespace
}  // namespace mneme::record
