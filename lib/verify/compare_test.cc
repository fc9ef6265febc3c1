// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/compare.h"

#include <gtest/gtest.h>

#include <random>

namespace mneme::verify {
namespace {

constexpr uint64_t kBlock = bundle::kBlockSize;
constexpr uint64_t kBase = 0x400000000000;

TEST(CountDifferences, AgreesWithTheObviousLoop) {
  std::mt19937 random(1);
  for (size_t size : {0, 1, 7, 255, 256, 1000, 65536}) {
    std::string a(size, '\0'), b;
    for (char& c : a) c = static_cast<char>(random());
    b = a;
    uint64_t differ = 0;
    for (char& c : b) {
      if (random() % 3) continue;
      c = static_cast<char>(c + 1);
      differ++;
    }
    EXPECT_EQ(count_differences(bytes_of(a), bytes_of(b)), differ) << size;
    EXPECT_EQ(count_differences(bytes_of(a), bytes_of(a)), 0u);
  }
  std::string zeros(100000, '\0'), ones(100000, '\1');
  EXPECT_EQ(count_differences(bytes_of(zeros), bytes_of(ones)), 100000u);
}

struct Compared : testing::Test {
  std::vector<bundle::Segment> segments{{kBase + 256, 100, {}, "", ""}, {kBase + 1024, kBlock, {}, "", ""}};
  Layout layout{segments};
  Comparison comparison{layout};
  std::string expected = std::string(kBlock, 'e');

  bool add(uint64_t block, std::initializer_list<uint64_t> offsets) {
    std::string actual = expected;
    for (uint64_t offset : offsets) actual[offset] = 'a';
    return comparison.add(block, bytes_of(expected), bytes_of(actual));
  }
};

TEST_F(Compared, EqualBlocksDoNotDiffer) {
  EXPECT_FALSE(add(kBase, {}));
  EXPECT_TRUE(comparison.equal());
  EXPECT_TRUE(comparison.differences().empty());
}

TEST_F(Compared, BytesOutsideSegmentsDoNotCount) {
  EXPECT_FALSE(add(kBase, {0, 255, 356, 1023}));
  EXPECT_TRUE(comparison.equal());
}

TEST_F(Compared, OneByteIsFound) {
  EXPECT_TRUE(add(kBase, {355}));
  auto differences = comparison.differences();
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_EQ(differences[0].address, kBase + 256);
  EXPECT_EQ(differences[0].bytes, 1u);
  EXPECT_EQ(differences[0].first, 99u);
  EXPECT_EQ(differences[0].expected, uint32_t{'e'});
  EXPECT_EQ(differences[0].actual, uint32_t{'a'});
}

TEST_F(Compared, BlocksOfASegmentAddUpInAnyOrder) {
  EXPECT_TRUE(add(kBase + kBlock, {0, 1023, 1024}));  // the last is past the segment
  EXPECT_TRUE(add(kBase, {300, 2000}));
  auto differences = comparison.differences();
  ASSERT_EQ(differences.size(), 2u);
  EXPECT_EQ(differences[0].bytes, 1u);
  EXPECT_EQ(differences[1].bytes, 3u);
  EXPECT_EQ(differences[1].first, 2000u - 1024);
}

}  // namespace
}  // namespace mneme::verify
