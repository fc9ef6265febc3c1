// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/outcomes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mneme::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

bundle::RunInfo a_run(std::vector<uint64_t> nanoseconds) {
  bundle::RunInfo run;
  run.status = "completed";
  run.nanoseconds = std::move(nanoseconds);
  return run;
}

std::vector<bundle::SegmentDifference> differing(uint64_t bytes) { return {{0x1000, bytes, 0, 1, 2}}; }

TEST(Outcomes, RoundsAddTheirTimes) {
  bundle::RunInfo run = a_run({5, 6});
  join(run, a_run({7, 8}));
  join(run, a_run({1, 2}));
  EXPECT_EQ(run.rounds, 3u);
  EXPECT_THAT(run.nanoseconds, ElementsAre(5, 6, 7, 8, 1, 2));
}

TEST(Outcomes, TimesOfTwoClocksAreNotTakenForOnes) {
  bundle::RunInfo run = a_run({5}), other = a_run({6});
  run.clock = "cupti";
  other.clock = "cupti";
  join(run, other);
  EXPECT_EQ(run.clock, "cupti");
  other.clock = "events";
  join(run, other);
  join(run, other);
  EXPECT_EQ(run.clock, "cupti, events");
}

TEST(Outcomes, WhatDiffersInALaterRoundIsNotForgotten) {
  bundle::RunInfo run = a_run({5});
  bundle::RunInfo other = a_run({6});
  other.differences = differing(3);
  other.blocks = {{0x10000, digest_of(bytes_of("expected")), digest_of(bytes_of("actual"))}};
  other.blocks_complete = false;
  join(run, other);
  EXPECT_EQ(run.differences, differing(3));
  EXPECT_THAT(run.blocks, SizeIs(1));
  EXPECT_FALSE(run.blocks_complete);
  EXPECT_THAT(run.others, IsEmpty());

  other.blocks_complete = true;
  join(run, other);
  EXPECT_THAT(run.others, IsEmpty()) << "it is known";
  EXPECT_FALSE(run.blocks_complete) << "the blocks are of the first that differed";
  other.differences = differing(4);
  join(run, other);
  EXPECT_THAT(run.others, ElementsAre(differing(4)));
}

TEST(Outcomes, ARoundThatFailsIsTheRunsFailure) {
  bundle::RunInfo run = a_run({5});
  bundle::RunInfo failed;
  failed.status = "failed";
  failed.reason = "it hangs";
  join(run, failed);
  EXPECT_EQ(run.status, "failed");
  EXPECT_THAT(run.reason, HasSubstr("in round 2"));
  EXPECT_THAT(run.reason, HasSubstr("it hangs"));
  EXPECT_THAT(run.nanoseconds, IsEmpty());
}

}  // namespace
}  // namespace mneme::run
