// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/verdict.h"

#include <gtest/gtest.h>

#include <map>

#include "base/error.h"

namespace mneme::verify {
namespace {

constexpr uint64_t kBase = 0x400000000000;

struct Judged : testing::Test {
  bundle::InstanceInfo instance;
  bundle::RunInfo run;
  std::map<Digest, std::string> blocks;

  void SetUp() override {
    instance.segments = {{kBase, 1000, bundle::SegmentKind::kHeap, "", ""},
                         {kBase + 1024, 100, bundle::SegmentKind::kGlobal, "table", ""}};
    instance.prologue = {1, 1};
    instance.epilogue = {2, 2};
    run.status = "completed";
    run.nanoseconds = {10};
    run.changed_bytes = 5;
    run.compared_bytes = 1100;
  }

  Digest block(std::initializer_list<std::pair<size_t, char>> bytes) {
    std::string contents(bundle::kBlockSize, '\0');
    for (auto [offset, value] : bytes) contents[offset] = value;
    Digest digest = digest_of(contents);
    blocks[digest] = contents;
    return digest;
  }

  // One byte of the table differs, and the run says so.
  void differ() {
    run.differences = {{kBase + 1024, 1, 7, 0x40, 0x41}};
    run.blocks = {{kBase, block({{1031, 0x40}}), block({{1031, 0x41}})}};
  }

  Verdict judged() {
    return judge(instance, run, [&](const Digest& digest) {
      auto found = blocks.find(digest);
      if (found == blocks.end()) throw Error("no such block");
      return bytes_of(found->second);
    });
  }

  // The one reason for which the run is not verified.
  std::string refused() {
    Verdict verdict = judged();
    EXPECT_EQ(verdict.status, Status::kNotVerified);
    EXPECT_EQ(verdict.reasons.size(), 1u);
    return verdict.reasons.empty() ? "" : verdict.reasons[0];
  }
};

TEST_F(Judged, EqualMemoryIsVerified) {
  Verdict verdict = judged();
  EXPECT_EQ(verdict.status, Status::kVerified);
  EXPECT_TRUE(verdict.reasons.empty());
}

TEST_F(Judged, AKernelThatChangesNothingIsVerified) {
  instance.epilogue = instance.prologue;
  run.changed_bytes = 0;
  EXPECT_EQ(judged().status, Status::kVerified);
}

TEST_F(Judged, OneByteIsNot) {
  differ();
  EXPECT_EQ(refused(),
            "segment 'table' (global) at 0x400000000400: 1 of 100 bytes differ, the first at offset 7: 0x40 was "
            "recorded, 0x41 replayed");
}

TEST_F(Judged, AFailedRunSaysWhy) {
  run.status = "failed";
  run.reason = "it crashed";
  Verdict verdict = judged();
  EXPECT_EQ(verdict.status, Status::kFailed);
  EXPECT_EQ(verdict.reasons, std::vector<std::string>{"it crashed"});
}

TEST_F(Judged, MemoryMustHaveChanged) {
  run.changed_bytes = 0;
  EXPECT_NE(refused().find("changed no memory"), std::string::npos);
}

TEST_F(Judged, AllMemoryMustHaveBeenCompared) {
  run.compared_bytes = 1000;
  EXPECT_EQ(refused(), "1000 of 1100 bytes of memory were compared");
}

TEST_F(Judged, SomethingMustHaveBeenExecuted) {
  run.nanoseconds.clear();
  EXPECT_EQ(refused(), "nothing was executed");
}

TEST_F(Judged, AnUnknownStatusIsNotBelieved) {
  run.status = "splendid";
  EXPECT_NE(refused().find("splendid"), std::string::npos);
}

TEST_F(Judged, DifferencesMustBePossible) {
  for (const bundle::SegmentDifference& bad : std::vector<bundle::SegmentDifference>{{kBase + 8, 1, 0, 1, 2},
                                                                                     {kBase, 1001, 0, 1, 2},
                                                                                     {kBase, 0, 0, 1, 2},
                                                                                     {kBase, 1, 1000, 1, 2},
                                                                                     {kBase, 1, 0, 1, 1},
                                                                                     {kBase, 1, 0, 1, 256}}) {
    run.differences = {bad};
    EXPECT_NE(refused().find("not believable"), std::string::npos);
  }
  run.differences = {{kBase, 1, 0, 1, 2}, {kBase, 1, 0, 1, 2}};
  EXPECT_NE(refused().find("twice"), std::string::npos);
}

TEST_F(Judged, BlocksMustTellTheSame) {
  differ();
  run.differences.clear();  // the blocks show a difference that the run hides
  EXPECT_NE(refused().find("not believable"), std::string::npos);

  differ();
  run.differences[0].first = 8;
  EXPECT_NE(refused().find("not believable"), std::string::npos);

  differ();
  run.blocks.clear();  // the run lists a difference that its blocks do not show
  EXPECT_NE(refused().find("not believable"), std::string::npos);
}

TEST_F(Judged, PartOfTheBlocksIsEnoughWhereTheRunSaysSo) {
  differ();
  run.differences[0].bytes = 50;
  run.blocks_complete = false;
  EXPECT_NE(refused().find("50 of 100"), std::string::npos);
  run.blocks.clear();
  EXPECT_NE(refused().find("50 of 100"), std::string::npos);
  differ();
  run.differences = {{kBase, 1, 7, 0x40, 0x41}};  // another segment than the blocks'
  EXPECT_NE(refused().find("not believable"), std::string::npos);
}

TEST_F(Judged, BlocksMustBeTheInstances) {
  differ();
  run.blocks[0].address += bundle::kBlockSize;
  EXPECT_NE(refused().find("not believable"), std::string::npos);
  differ();
  run.blocks.push_back(run.blocks[0]);
  EXPECT_NE(refused().find("not believable"), std::string::npos);
  differ();
  blocks.clear();
  EXPECT_THROW(judged(), Error);
}

}  // namespace
}  // namespace mneme::verify
