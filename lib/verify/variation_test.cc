// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/variation.h"

#include <gtest/gtest.h>

namespace mneme::verify {
namespace {

constexpr uint64_t kBase = 0x400000000000;

// A segment of 100 bytes, 10 from the block's start, read as 12 doubles and a tail of 4 bytes, and one read as bytes.
struct Varying : testing::Test {
  Layout layout{std::vector<bundle::Segment>{{kBase + 10, 100, bundle::SegmentKind::kHeap, "", ""},
                                             {kBase + 200, 50, bundle::SegmentKind::kHeap, "", ""}}};
  Readings readings{Reading{ElementType::kF64, {{11, 1}}}, std::nullopt};
  Variation variation;
  std::string expected = std::string(bundle::kBlockSize, '\0'), actual = expected;

  void vary(size_t offset) {
    std::string other = expected;
    other[offset] = 7;
    variation.mark(kBase, bytes_of(expected), bytes_of(other));
  }
  void differ(size_t offset) { actual[offset] = 5; }

  std::vector<bundle::SegmentDifference> differences() {
    Comparison comparison(layout, readings);
    SteadyDifferences steady(layout, readings, variation);
    comparison.add(kBase, bytes_of(expected), bytes_of(actual));
    steady.add(kBase, bytes_of(expected), bytes_of(actual));
    auto differences = comparison.differences();
    steady.note_in(differences);
    return differences;
  }
  std::optional<uint64_t> steady() { return differences().at(0).steady; }
};

TEST_F(Varying, WithoutVariationAllIsSteady) {
  differ(10), differ(11), differ(18), differ(200);
  auto found = differences();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].steady, 2u) << "elements";
  EXPECT_EQ(found[0].observation->differ, 2u);
  EXPECT_EQ(found[1].steady, 1u) << "bytes";
}

TEST_F(Varying, AnElementVariesIfAByteOfItDoes) {
  vary(15);
  differ(10);
  EXPECT_EQ(steady(), 0u);
  differ(17);
  EXPECT_EQ(steady(), 0u);
  differ(18);
  EXPECT_EQ(steady(), 1u) << "the next element";
}

TEST_F(Varying, BytesVaryOneByOne) {
  vary(205);
  differ(205);
  EXPECT_EQ(steady(), 0u);
  differ(206);
  EXPECT_EQ(steady(), 1u);
}

TEST_F(Varying, BehindTheLastElementBytesCount) {
  vary(10 + 96);
  differ(10 + 96), differ(10 + 97), differ(10 + 98);
  EXPECT_EQ(steady(), 2u);
}

TEST_F(Varying, IgnoredElementsDoNotCount) {
  differ(10 + 88);
  EXPECT_EQ(steady(), 0u);
  differ(10 + 80);
  EXPECT_EQ(steady(), 1u);
}

TEST_F(Varying, BytesOfNoSegmentDoNotCount) {
  differ(5), differ(150), differ(10);
  EXPECT_EQ(differences().size(), 1u);
  EXPECT_EQ(steady(), 1u);
}

TEST_F(Varying, PartsOfAnElementInTwoBlocksCountByThemselves) {
  uint64_t next = kBase + bundle::kBlockSize;
  layout = Layout(std::vector<bundle::Segment>{{next - 4, 16, bundle::SegmentKind::kHeap, "", ""}});
  readings = {Reading{ElementType::kF64, {}}};
  actual[bundle::kBlockSize - 1] = 1;
  std::string first = actual, second = expected;
  second[0] = 1;
  variation.set(kBase, bytes_of(first));
  SteadyDifferences steady(layout, readings, variation);
  steady.add(kBase, bytes_of(expected), bytes_of(first));
  steady.add(next, bytes_of(expected), bytes_of(second));
  std::vector<bundle::SegmentDifference> differences{{next - 4, 2, 3, 0, 1}};
  steady.note_in(differences);
  EXPECT_EQ(differences[0].steady, 1u) << "nothing in the second block varies";
}

TEST_F(Varying, MarksAddUp) {
  EXPECT_TRUE(variation.at(kBase).empty());
  vary(3), vary(4), vary(3);
  ASSERT_EQ(variation.at(kBase).size(), bundle::kBlockSize);
  std::string marks(bundle::kBlockSize, '\0');
  marks[3] = marks[4] = 1;
  EXPECT_EQ(text_of(variation.at(kBase)), marks);
}

TEST(Widen, KeepsTheLargestOfEachFigure) {
  auto difference = [](uint64_t address, uint64_t bytes, double linf, double l1) {
    bundle::SegmentDifference out{address, bytes, 0, 1, 2};
    out.observation = bundle::Observation{"f64", 10, bytes, 0, {linf, l1, l1, bytes, "e", "a"}, {0, 0, 0, 0, "", ""}};
    return out;
  };
  std::vector<bundle::SegmentDifference> spread;
  widen(spread, {difference(200, 3, 0.5, 2)});
  widen(spread, {difference(100, 1, 7, 7), difference(200, 2, 0.75, 1)});
  widen(spread, {});
  ASSERT_EQ(spread.size(), 2u);
  EXPECT_EQ(spread[0].address, 100u);
  EXPECT_EQ(spread[1].bytes, 3u);
  EXPECT_EQ(spread[1].observation->differ, 3u);
  EXPECT_EQ(spread[1].observation->absolute.linf, 0.75);
  EXPECT_EQ(spread[1].observation->absolute.worst, 2u) << "of the execution with the largest error";
  EXPECT_EQ(spread[1].observation->absolute.l1, 2);
  EXPECT_FALSE(spread[1].steady);
}

TEST(Widen, KeepsWhatIsSteady) {
  auto difference = [](uint64_t bytes, uint64_t steady) {
    bundle::SegmentDifference out{100, bytes, 0, 1, 2};
    out.steady = steady;
    return out;
  };
  std::vector<bundle::SegmentDifference> spread;
  widen(spread, {difference(3, 2)});
  widen(spread, {difference(7, 1)});
  EXPECT_EQ(spread[0].bytes, 7u);
  EXPECT_EQ(spread[0].steady, 2u);
  widen(spread, {difference(1, 4)});
  EXPECT_EQ(spread[0].bytes, 7u);
  EXPECT_EQ(spread[0].steady, 4u);
}

}  // namespace
}  // namespace mneme::verify
