// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/judge/algebra.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

namespace mneme::verify {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Two runs that leave a block each, in a segment of this many bytes behind its beginning.
struct Runs {
  Runs() {
    instance.segments = {{bundle::kBlockSize, 64, bundle::SegmentKind::kHeap, "", ""}};
    for (bundle::RunInfo* run : {&reference, &other}) run->status = "completed";
  }

  Digest block(const void* bytes, size_t size) {
    std::string text(bundle::kBlockSize, '\0');
    std::memcpy(text.data(), bytes, size);
    const Digest digest = digest_of(text);
    texts[digest] = text;
    return digest;
  }
  template <typename T>
  Verdict judge(std::vector<T> left, std::vector<T> right, bool short_numbers = false) {
    const Digest recorded = block("recorded", 8);
    reference.blocks = {{bundle::kBlockSize, recorded, block(left.data(), left.size() * sizeof(T))}};
    other.blocks = {{bundle::kBlockSize, recorded, block(right.data(), right.size() * sizeof(T))}};
    return judge(short_numbers);
  }
  Verdict judge(bool short_numbers = false) {
    return judge_algebra(instance, &reference, other, short_numbers,
                         [this](const Digest& digest) { return bytes_of(texts.at(digest)); });
  }

  bundle::InstanceInfo instance;
  bundle::RunInfo reference, other;
  std::map<Digest, std::string> texts;
};

// 0.5 is the inverse of 2, and as an element an integer.
constexpr double kHalf = -11284560;

TEST(Algebra, TheSameElementsAreTheSame) {
  Runs runs;
  EXPECT_EQ(runs.judge<float>({1, 0.5F, -0.0F}, {1, kHalf, 0}).status, Status::kVerified);
  EXPECT_EQ(runs.judge<double>({0.5, 7}, {kHalf, 7}).status, Status::kVerified);
  EXPECT_EQ(runs.judge<uint16_t>({0x3800}, {0xe68f}, true).status, Status::kVerified);  // 0.5, -1679
}

TEST(Algebra, OthersAreNamed) {
  Runs runs;
  const Verdict verdict = runs.judge<float>({1, 2, 3}, {1, 2, 4});
  EXPECT_EQ(verdict.status, Status::kNotVerified);
  EXPECT_THAT(verdict.reasons, ElementsAre(HasSubstr("segment at 0x10000 (heap): at offset 10 it computes")));
  EXPECT_EQ(runs.judge<double>({1, 0.5}, {1, 0.25}).status, Status::kNotVerified);
  EXPECT_EQ(runs.judge<uint16_t>({0x3800}, {0xe68f}, false).status, Status::kNotVerified);
  EXPECT_EQ(runs.judge<uint32_t>({7}, {5}).status, Status::kNotVerified);
}

// A block that one of them does not list is as it was recorded.
TEST(Algebra, OneMayHaveLeftWhatWasRecorded) {
  Runs runs;
  const float values[] = {1, 2}, others[] = {1, 3};
  runs.other.blocks = {{bundle::kBlockSize, runs.block(values, 8), runs.block(others, 8)}};
  EXPECT_EQ(runs.judge().status, Status::kNotVerified);
  std::swap(runs.other.blocks, runs.reference.blocks);
  EXPECT_EQ(runs.judge().status, Status::kNotVerified);
  // Nor does what lies behind the segment count.
  runs.instance.segments[0].size = 4;
  EXPECT_EQ(runs.judge().status, Status::kVerified);
}

TEST(Algebra, WithoutAllThatItTakesThereIsNoVerdict) {
  Runs runs;
  EXPECT_THAT(judge_algebra(runs.instance, nullptr, runs.other, false, {}).reasons,
              ElementsAre(HasSubstr("give --algebra to mneme-run")));
  runs.other.blocks_complete = false;
  EXPECT_THAT(runs.judge().reasons, ElementsAre(HasSubstr("--max-diff")));
  runs.reference.status = "failed";
  EXPECT_THAT(runs.judge().reasons, ElementsAre(HasSubstr("the recorded code's run with --algebra failed")));
  runs.other.status = "failed";
  EXPECT_EQ(runs.judge().status, Status::kFailed);
}

TEST(Algebra, TheReferenceIsTheRecordedCode) {
  bundle::Configuration configuration;
  configuration.passes = "default<O0>";
  EXPECT_FALSE(is_algebra_reference(configuration));
  configuration.algebra = true;
  EXPECT_TRUE(is_algebra_reference(configuration));
  configuration.fast_math = "nsz";
  EXPECT_FALSE(is_algebra_reference(configuration));
}

}  // namespace
}  // namespace mneme::verify
