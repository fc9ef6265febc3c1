// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/verdict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/error.h"
#include "verify/layout.h"

namespace mneme::verify {
namespace {

constexpr uint64_t kBase = 0x400000000000;

struct Judged : testing::Test {
  bundle::InstanceInfo instance;
  bundle::RunInfo run;
  std::map<Digest, std::string> blocks;
  std::vector<bundle::StoreType> stores;
  std::vector<Override> overrides;
  std::optional<Kind> infer = {};
  std::vector<std::string> arguments;  // that lead to each segment
  Strictness strictness;

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
    std::vector<Choice> choices = choose(instance, stores, overrides, infer);
    for (Choice& choice : choices) choice.arguments = arguments;
    return judge(
        instance, run, stores, std::move(choices),
        [&](const Digest& digest) {
          auto found = blocks.find(digest);
          if (found == blocks.end()) throw Error("no such block");
          return bytes_of(found->second);
        },
        strictness);
  }

  // The one reason for which the run is not verified.
  std::string refused() {
    Verdict verdict = judged();
    EXPECT_EQ(verdict.status, Status::kNotVerified);
    EXPECT_EQ(verdict.reasons.size(), 1u);
    return verdict.reasons.empty() ? "" : verdict.reasons[0];
  }
};

TEST_F(Judged, NansOfOtherBitsAreNamedAndMayPass) {
  // The second element of the table: 0x7fc00000 was recorded, 0xffc00000 replayed.
  stores = {{-1, "table", "f32"}};
  auto memory = [&](char last) { return block({{1030, '\xc0'}, {1031, last}}); };
  run.blocks = {{kBase, memory(0x7f), memory('\xff')}};
  Layout layout(instance.segments);
  const Readings as_stored = readings(instance, stores);
  Comparison comparison(layout, as_stored);
  comparison.add(kBase, bytes_of(blocks.at(memory(0x7f))), bytes_of(blocks.at(memory('\xff'))));
  run.differences = comparison.differences();
  EXPECT_EQ(refused(),
            "segment 'table' (global) at 0x400000000400: 1 element is NaN in both, with other bits, and nothing "
            "else differs: --nan equal accepts that");
  strictness.equal_nans = true;
  EXPECT_EQ(judged().status, Status::kVerified);
  // Not where anything else differs.
  Digest other = block({{1028, 1}, {1030, '\xc0'}, {1031, '\xff'}, {1036, 1}});
  run.blocks = {{kBase, memory(0x7f), other}};
  Comparison both(layout, as_stored);
  both.add(kBase, bytes_of(blocks.at(memory(0x7f))), bytes_of(blocks.at(other)));
  run.differences = both.differences();
  EXPECT_NE(refused().find("; 1 element is NaN in both, with other bits"), std::string::npos) << refused();
}

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

TEST_F(Judged, ArgumentsThatLeadThereAreNamed) {
  differ();
  arguments = {"out"};
  EXPECT_NE(refused().find("(global) at 0x400000000400 of argument 'out': 1 of 100"), std::string::npos);
  arguments = {"a", "b", "c", "d"};
  EXPECT_NE(refused().find("0x400000000400 of arguments 'a', 'b', 'c': 1 of 100"), std::string::npos)
      << "three at most";
}

TEST_F(Judged, ErrorsOfFloatingPointAreNamed) {
  // The second element of the table: 0x3f800000 (1 as f32) was recorded.
  auto memory = [&](char first, char last) { return block({{1028, first}, {1030, '\x80'}, {1031, last}}); };
  const Digest recorded = memory(0, 0x3f);
  Layout layout(instance.segments);
  auto sentence = [&](const char* type, const Digest& replayed) {
    stores = {{-1, "table", type}};
    run.blocks = {{kBase, recorded, replayed}};
    const Readings as_stored = readings(instance, stores);
    Comparison comparison(layout, as_stored, [](size_t) { return 2; });
    comparison.add(kBase, bytes_of(blocks.at(recorded)), bytes_of(blocks.at(replayed)));
    run.differences = comparison.differences();
    return refused();
  };
  EXPECT_EQ(sentence("f32", memory(1, 0x3f)),
            "segment 'table' (global) at 0x400000000400: 1 of 100 bytes differ (scaled error 5.96e-08 as f32, which "
            "--infer accepts), the first at offset 4: 0x00 was recorded, 0x01 replayed");
  EXPECT_NE(sentence("f32", memory(0, 0x40)).find(" differ (scaled error 1.5 as f32), "), std::string::npos);
  EXPECT_NE(sentence("i32", memory(1, 0x3f)).find("1 of 100 bytes differ, the first"), std::string::npos);
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

// The buffer holds 125 doubles, of which two were replayed differently, and the run says so.
struct JudgedByPolicy : Judged {
  void SetUp() override {
    Judged::SetUp();
    annotate(R"({"dtype":"f64","threshold":0.25,"kind":"absolute","norm":"linf","tag":"out"})");
    replay({{3, 1.0, 1.25}, {7, 2.0, 2.125}});
  }

  std::optional<double> scale = 2;  // as the run measured it

  void annotate(const std::string& annotation) { instance.segments[0].annotation = annotation; }

  struct Changed {
    size_t index;
    double expected, actual;
  };
  void replay(const std::vector<Changed>& changes) {
    std::string e(bundle::kBlockSize, '\0'), r = e;
    for (const Changed& change : changes) {
      std::memcpy(&e[change.index * 8], &change.expected, 8);
      std::memcpy(&r[change.index * 8], &change.actual, 8);
    }
    blocks[digest_of(e)] = e, blocks[digest_of(r)] = r;
    run.blocks = {{kBase, digest_of(e), digest_of(r)}};
    Layout layout(instance.segments);
    Readings read = readings(instance, stores);
    Comparison comparison(layout, read, [&](size_t) { return scale; });
    comparison.add(kBase, bytes_of(e), bytes_of(r));
    run.differences = comparison.differences();
  }
};

TEST_F(JudgedByPolicy, WithinTheThresholdIsVerified) {
  Verdict verdict = judged();
  EXPECT_EQ(verdict.status, Status::kVerified);
  ASSERT_EQ(verdict.segments.size(), 1u);
  EXPECT_TRUE(verdict.segments[0].verified);
  EXPECT_EQ(verdict.segments[0].error, 0.25);
  EXPECT_EQ(verdict.segments[0].difference->observation->differ, 2u);
}

TEST_F(JudgedByPolicy, BeyondItIsNot) {
  replay({{3, 1.0, 1.5}, {7, 2.0, 2.125}});
  EXPECT_EQ(refused(),
            "segment at 0x400000000000 (heap) ('out'): its absolute error (linf) is 0.5, more than 0.25; 2 of 125 "
            "elements differ, worst is element 3: 1 was recorded, 1.5 replayed; the largest errors: absolute 0.5, "
            "relative 0.5, "
            "scaled 0.25 (scale 2), 2.25e+15 ULPs");
}

TEST_F(JudgedByPolicy, NormsAddUp) {
  overrides = {{.segment = "out", .norm = Norm::kL1}};
  EXPECT_NE(refused().find("(l1) is 0.375"), std::string::npos);
  overrides = {{.segment = "out", .norm = Norm::kL2, .threshold = 0.28}};
  EXPECT_EQ(judged().status, Status::kVerified);
  overrides = {{.segment = "out", .kind = Kind::kRelative, .threshold = 0.25}};
  EXPECT_EQ(judged().status, Status::kVerified);
}

TEST_F(JudgedByPolicy, ScaledErrors) {
  replay({{3, 1e-8, 2e-8}, {7, 2.0, 2.125}});
  overrides = {{.segment = "out", .kind = Kind::kScaled, .threshold = 0.0625}};
  EXPECT_EQ(judged().status, Status::kVerified);
  overrides[0].threshold = 0.0624;
  EXPECT_NE(refused().find("its scaled error (linf) is 0.0625, more than 0.0624"), std::string::npos) << refused();
  overrides = {{.segment = "out", .kind = Kind::kRelative, .threshold = 0.0625}};
  EXPECT_NE(refused().find("its relative error (linf) is 1,"), std::string::npos) << refused();
}

TEST_F(JudgedByPolicy, AnotherScaleTakesTheStoredBlocks) {
  overrides = {{.segment = "out", .kind = Kind::kScaled, .threshold = 0.03125, .scale = 4}};
  replay({{7, 2.0, 2.125}});
  EXPECT_EQ(judged().status, Status::kVerified);
  overrides[0].scale = 2;
  EXPECT_NE(refused().find("(scale 2)"), std::string::npos);
  overrides[0].scale = 4;
  run.blocks.clear();
  run.blocks_complete = false;
  EXPECT_NE(refused().find("cannot be judged as f64 by scaled errors, because the run does not come with all"),
            std::string::npos);
}

TEST_F(JudgedByPolicy, Ulps) {
  replay({{7, 1.0, 1.0 + 0x1p-50}});
  overrides = {{.segment = "out", .kind = Kind::kUlp, .threshold = 4}};
  EXPECT_EQ(judged().status, Status::kVerified);
  overrides[0].threshold = 3;
  EXPECT_NE(refused().find("its ulp error (linf) is 4, more than 3"), std::string::npos) << refused();
}

// As versions before 0.2 wrote it, and as another type shows it.
TEST_F(JudgedByPolicy, WithoutTheMeanSquare) {
  scale.reset();
  replay({{7, 1.0, 1.0 + 0x1p-50}});
  EXPECT_EQ(judged().status, Status::kVerified);
  overrides = {{.segment = "out", .kind = Kind::kUlp, .threshold = 4}};
  Verdict verdict = judged();
  EXPECT_EQ(verdict.status, Status::kVerified);
  EXPECT_FALSE(verdict.segments.at(0).difference->observation->scaled);
  overrides = {{.segment = "out", .kind = Kind::kScaled}};
  EXPECT_NE(refused().find("the run lacks the root mean square of the recorded elements: give --scale"),
            std::string::npos);
  overrides[0].scale = 1;
  EXPECT_EQ(judged().status, Status::kVerified);
  scale = 2;
  replay({{7, 1.0, 1.0 + 0x1p-50}});
  overrides = {{.segment = "out", .type = ElementType::kF32, .kind = Kind::kScaled}};
  EXPECT_NE(refused().find("cannot be judged as f32"), std::string::npos);
}

// It would let everything pass.
TEST_F(JudgedByPolicy, AScaleThatTheBlocksDoNotShow) {
  run.differences[0].observation->scale = 1e9;
  EXPECT_NE(refused().find("not believable"), std::string::npos);
}

TEST_F(JudgedByPolicy, OtherSegmentsAreStillComparedByBytes) {
  run.differences.push_back({kBase + 1024, 1, 7, 0, 1});
  std::string e = blocks[run.blocks[0].expected], r = blocks[run.blocks[0].actual];
  r[1031] = 1;
  blocks[digest_of(r)] = r;
  run.blocks[0].actual = digest_of(r);
  EXPECT_NE(refused().find("'table'"), std::string::npos);
}

TEST_F(JudgedByPolicy, ATailMustBeTheSame) {
  annotate(R"({"dtype":"cf64","threshold":1e9,"kind":"absolute","norm":"linf"})");
  replay({{124, 1, 2}});  // 1000 bytes are 62 such elements and 8 bytes
  EXPECT_NE(refused().find("2 bytes behind"), std::string::npos) << refused();
}

TEST_F(JudgedByPolicy, AnotherTypeIsReadFromTheBlocks) {
  overrides = {{.segment = "out", .type = ElementType::kI64, .threshold = 0x1p60}};
  EXPECT_EQ(judged().status, Status::kVerified);
  run.blocks_complete = false;
  EXPECT_NE(refused().find("--max-diff"), std::string::npos);
}

TEST_F(JudgedByPolicy, ARunThatLiesAboutItsErrorsIsNotBelieved) {
  run.differences[0].observation->absolute.linf = 0.125;
  EXPECT_NE(refused().find("not believable"), std::string::npos);
}

TEST_F(JudgedByPolicy, TheWorstExecutionCounts) {
  auto good = run.differences;
  auto first = run.blocks;
  replay({{3, 1.0, 1.5}});
  auto bad = run.differences;
  run.differences = good;
  run.blocks = first;
  run.others = {good, bad};
  EXPECT_NE(
      refused().find("another execution: segment at 0x400000000000 (heap) ('out'): its absolute error (linf) is 0.5"),
      std::string::npos);
  EXPECT_EQ(judged().segments[0].error, 0.5);
  overrides = {{.segment = "out", .threshold = 0.5}};
  EXPECT_EQ(judged().status, Status::kVerified);
  overrides = {{.segment = "out", .type = ElementType::kI64, .threshold = 0x1p63}};
  EXPECT_NE(refused().find("only the blocks of one execution"), std::string::npos);
  run.others[0][0].bytes = 0;
  EXPECT_NE(refused().find("not believable"), std::string::npos);
}

TEST_F(JudgedByPolicy, RecheckNeedsTheBlocks) {
  strictness.recheck = true;
  EXPECT_EQ(judged().status, Status::kVerified);
  run.blocks_complete = false;
  EXPECT_NE(refused().find("cannot be rechecked"), std::string::npos);
}

TEST_F(JudgedByPolicy, InferredTolerance) {
  annotate("");
  stores = {{-1, "", "f64"}};
  replay({{3, 1.0, 1.0 + 1e-12}});
  EXPECT_NE(refused().find("bytes differ"), std::string::npos);
  infer = Kind::kScaled;
  EXPECT_EQ(judged().status, Status::kVerified);
  replay({{3, 1.0, 1.0 + 1e-8}});
  EXPECT_NE(refused().find("more than 1e-09"), std::string::npos);
  stores = {{-1, "", "i64"}};
  replay({{3, 1.0, 1.0 + 1e-12}});
  EXPECT_NE(refused().find("bytes differ"), std::string::npos);
}

// Both doubles that differ vary in the baseline, by up to 0.25.
struct JudgedByBaseline : JudgedByPolicy {
  void SetUp() override {
    JudgedByPolicy::SetUp();
    overrides = {{.segment = "out", .threshold = 0}};
    std::string marks(bundle::kBlockSize, '\0');
    for (size_t i : {3, 7}) std::fill_n(marks.begin() + static_cast<ptrdiff_t>(i) * 8, 8, 1);
    blocks[digest_of(marks)] = marks;
    run.baseline = bundle::Baseline{4, "", run.differences, {{kBase, digest_of(marks)}}, true, 0};
    run.differences[0].steady = 0;
  }
  bundle::SegmentDifference& found() { return run.differences[0]; }
};

TEST_F(JudgedByBaseline, AsMuchAsItVariesIsTold) {
  Verdict verdict = judged();
  EXPECT_EQ(verdict.status, Status::kVaries);
  EXPECT_EQ(to_string(verdict.status), "varies");
  ASSERT_EQ(verdict.reasons.size(), 1u);
  EXPECT_NE(verdict.reasons[0].find("is 0.25, more than 0; 2 of 125 elements differ"), std::string::npos);
  EXPECT_NE(verdict.reasons[0].find("; this is as much as it varies by itself: 4 executions"), std::string::npos);
  ASSERT_EQ(verdict.segments.size(), 1u);
  EXPECT_TRUE(verdict.segments[0].varies);
  EXPECT_FALSE(verdict.segments[0].verified);
}

TEST_F(JudgedByBaseline, WithinThePolicyIsVerified) {
  overrides.clear();
  EXPECT_EQ(judged().status, Status::kVerified);
}

TEST_F(JudgedByBaseline, MoreThanItVariesIsNotVerified) {
  replay({{3, 1.0, 1.51}});
  found().steady = 0;
  EXPECT_NE(refused().find("; this is more than it varies by itself"), std::string::npos);
}

TEST_F(JudgedByBaseline, WhatIsSteadyMustNotDiffer) {
  replay({{3, 1.0, 1.25}, {8, 1.0, 1.0 + 1e-15}});
  found().steady = 1;
  EXPECT_NE(refused().find("; 1 of the elements that differ do not vary by themselves"), std::string::npos);
  found().steady = 0;
  EXPECT_NE(refused().find("not believable"), std::string::npos) << "the blocks show another";
}

TEST_F(JudgedByBaseline, EverySegmentMustVary) {
  std::string r = blocks[run.blocks[0].actual];
  r[1031] = 1;
  blocks[digest_of(r)] = r;
  run.blocks[0].actual = digest_of(r);
  run.differences.push_back({kBase + 1024, 1, 7, 0, 1});
  run.differences[1].steady = 1;
  Verdict verdict = judged();
  EXPECT_EQ(verdict.status, Status::kNotVerified);
  ASSERT_EQ(verdict.reasons.size(), 2u);
  EXPECT_NE(verdict.reasons[0].find("'table'"), std::string::npos) << "the worst first: " << verdict.reasons[0];
  EXPECT_NE(verdict.reasons[0].find("does not vary"), std::string::npos);
}

TEST_F(JudgedByBaseline, TheWorstExecutionCounts) {
  auto varying = run.differences;
  run.others = {varying};
  EXPECT_EQ(judged().status, Status::kVaries);
  run.others[0][0].steady = 1;
  Verdict verdict = judged();
  EXPECT_EQ(verdict.status, Status::kNotVerified);
  EXPECT_NE(verdict.reasons.at(0).find("another execution"), std::string::npos) << "the worst first";
}

TEST_F(JudgedByBaseline, OtherFaultsStay) {
  run.nanoseconds.clear();
  EXPECT_EQ(judged().status, Status::kNotVerified);
}

TEST_F(JudgedByBaseline, ThereMustBeOne) {
  bundle::Baseline baseline = *run.baseline;
  run.baseline.reset();
  EXPECT_NE(refused().find("has no baseline, but tells how"), std::string::npos);
  run.baseline = baseline;
  found().steady.reset();
  EXPECT_NE(refused().find("does not tell how"), std::string::npos);
}

TEST_F(JudgedByBaseline, ItMustBelieveItself) {
  run.baseline->spread[0].bytes = 17;
  EXPECT_NE(refused().find("more varies"), std::string::npos);
  run.baseline->spread[0].bytes = 0;
  EXPECT_NE(refused().find("impossible"), std::string::npos);
  run.baseline->spread[0].bytes = 2;
  run.baseline->blocks[0].address += bundle::kBlockSize;
  EXPECT_NE(refused().find("belongs to no segment"), std::string::npos);
}

TEST_F(JudgedByBaseline, OneThatFailedIsSaid) {
  run.baseline = bundle::Baseline{0, "it crashed", {}, {}, true, 0};
  found().steady.reset();
  Verdict verdict = judged();
  EXPECT_EQ(verdict.status, Status::kNotVerified);
  ASSERT_EQ(verdict.reasons.size(), 2u);
  EXPECT_NE(verdict.reasons[1].find("it crashed"), std::string::npos);
}

}  // namespace
}  // namespace mneme::verify
