// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/format.h"

#include <gtest/gtest.h>

#include <limits>

#include "bundle/testing/format_tests.h"

namespace mneme::bundle {
namespace {

TEST(Json, RunAndSummaryRoundTrip) {
  RunInfo run{kOne,
              kTwo,
              kThree,
              "host",
              "failed",
              "it trapped",
              "steady",
              2,
              {5, 6},
              10,
              20,
              {{0x400000000000, 3, 17, 255, 0}},
              {{0x400000010000, kOne, kTwo}},
              false,
              {}};
  EXPECT_EQ(write(parse_run(write(run), "a run")), write(run));
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  run.differences[0].observation = Observation{"f32",
                                               100,
                                               2,
                                               1,
                                               {0.1, 1.0 / 3, 5e-324, 17, "abcd", "abce"},
                                               {kInfinite, kInfinite, 1e308, 3, {"\0\1\2\3", 4}, "abce"}};
  RunInfo back = parse_run(write(run), "a run");
  EXPECT_EQ(back.differences, run.differences) << "to the last bit";
  EXPECT_TRUE(back.others.empty());
  run.others = {run.differences, {}};
  back = parse_run(write(run), "a run");
  EXPECT_EQ(back.others, run.others);
  EXPECT_FALSE(back.baseline);
  EXPECT_EQ(write(run).find("\"steady\":"), std::string::npos);
  run.differences[0].steady = 2;
  run.baseline = Baseline{5, "", {{0x400000000000, 9, 1, 2, 3}}, {{0x400000010000, kThree}}, false, 7};
  back = parse_run(write(run), "a run");
  EXPECT_EQ(back.differences, run.differences);
  EXPECT_EQ(back.baseline->spread, run.baseline->spread);
  EXPECT_EQ(back.baseline->blocks.at(0).bytes, kThree);
  EXPECT_EQ(write(back), write(run));
  EXPECT_EQ(write(Summary{}).find("failed"), std::string::npos);
  Summary failed;
  failed.failed = true;
  EXPECT_TRUE(parse_summary(write(failed), "s").failed);
  Summary summary{{{kOne, 12}}, {{"f()", 3, "it has no IR"}}, "was killed", true, {}};
  EXPECT_EQ(write(parse_summary(write(summary), "summary.json")), write(summary));
  EXPECT_EQ(write(summary).find("totals"), std::string::npos);
  summary.totals = Totals{{{"f()", 3, 0}, {"g()", 7, 2}}, 4096, 100};
  EXPECT_EQ(write(parse_summary(write(summary), "summary.json")), write(summary));
  EXPECT_EQ(parse_summary(write(summary), "summary.json").totals->kernels.at(1).recorded, 2u);
}

TEST(Json, ObservationsAreChecked) {
  auto fault_with = [](const std::string& norms) {
    std::string text =
        write(RunInfo{kOne, kTwo, kThree, "host", "completed", "", "steady", 0, {1}, 0, 0, {}, {}, true, {}});
    std::string observation = R"({"address":"0x1000","bytes":1,"first":0,"expected":1,"actual":2,"observation":)"
                              R"({"type":"f32","elements":1,"differ":1,"tail":0,"absolute":)" +
                              norms + R"(,"relative":)" + norms + "}}";
    text.replace(text.find("\"differences\":[]"), 16, "\"differences\":[" + observation + "]");
    return fault_of([&] { parse_run(resealed(text), "a run"); });
  };
  EXPECT_EQ(fault_with(R"({"linf":1,"l1":1.5,"l2":"inf","worst":0,"expected":"","actual":""})"), "none");
  EXPECT_NE(fault_with(R"({"linf":-1,"l1":1,"l2":1,"worst":0,"expected":"","actual":""})").find("negative"),
            std::string::npos);
  EXPECT_NE(fault_with(R"({"linf":"nan","l1":1,"l2":1,"worst":0,"expected":"","actual":""})").find("neither a number"),
            std::string::npos);
  EXPECT_NE(fault_with(R"({"linf":1,"l1":1,"l2":1,"worst":0,"expected":"zz","actual":""})").find("hexadecimal"),
            std::string::npos);
  EXPECT_NE(
      fault_with(R"({"linf":1,"l1":1,"l2":1,"worst":0,"expected":"","actual":"000102030405060708090a0b0c0d0e0f10"})")
          .find("more than 16 bytes"),
      std::string::npos);
}

TEST(Json, OnlyColdRunsSaySo) {
  RunInfo run{kOne, kTwo, kThree, "cuda", "completed", "", "events", 1, {5}, 0, 0, {}, {}, true, {}};
  EXPECT_EQ(write(run).find("cache"), std::string::npos);
  EXPECT_FALSE(parse_run(write(run), "a run").cold);
  run.cold = true;
  std::string text = write(run);
  EXPECT_NE(text.find(R"("nanoseconds":[5],"cache":"cold")"), std::string::npos);
  EXPECT_TRUE(parse_run(text, "a run").cold);
  text.replace(text.find("cold"), 4, "iced");
  EXPECT_NE(fault_of([&] { parse_run(resealed(text), "a run"); }).find("cache"), std::string::npos);
}

TEST(Json, RoundsAreWhatTheTimesComeFrom) {
  RunInfo run{kOne, kTwo, kThree, "host", "completed", "", "steady", 1, {5, 6, 7, 8, 9, 4}, 0, 0, {}, {}, true, {}};
  EXPECT_EQ(write(run).find("rounds"), std::string::npos);
  EXPECT_EQ(parse_run(write(run), "a run").rounds, 1u);
  run.rounds = 3;
  EXPECT_EQ(parse_run(write(run), "a run").rounds, 3u);
  for (const char* wrong : {"0", "4", "-1", "4294967296", "\"3\""}) {
    std::string text = write(run);
    text.replace(text.find("\"rounds\":3") + 9, 1, wrong);
    EXPECT_NE(fault_of([&] { parse_run(resealed(text), "a run"); }).find("rounds"), std::string::npos) << wrong;
  }
}

TEST(Json, StrayBytesAreToldOfOnlyIfThereAreAny) {
  RunInfo run{kOne, kTwo, kThree, "host", "completed", "", "steady", 0, {1}, 0, 0, {}, {}, true, {}};
  EXPECT_EQ(write(run).find("stray_bytes"), std::string::npos);
  EXPECT_EQ(parse_run(write(run), "a run").stray_bytes, 0u);
  run.stray_bytes = 7;
  EXPECT_EQ(parse_run(write(run), "a run").stray_bytes, 7u);
}

TEST(Json, FindingsAreChecked) {
  RunInfo run{kOne, kTwo, kThree, "host", "completed", "", "steady", 0, {1}, 0, 0, {}, {}, true, {}};
  EXPECT_EQ(write(run).find("findings"), std::string::npos);
  EXPECT_TRUE(parse_run(write(run), "a run").findings.empty());
  run.findings = {{"races", "write-read", "it races", "a.hip:3", "a.hip:5", false, 7},
                  {"init", "shared", "it reads", "", "", true, 1}};
  EXPECT_EQ(parse_run(write(run), "a run").findings, run.findings);
  auto fault_with = [&](const std::string& from, const std::string& to) {
    std::string text = write(run);
    size_t at = text.find(from, text.find("\"findings\""));
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    return fault_of([&] { parse_run(resealed(text), "a run"); });
  };
  EXPECT_EQ(fault_with("a.hip:5", "a.hip:6"), "none");
  EXPECT_NE(fault_with("\"count\":7", "\"count\":0").find("is found once at least"), std::string::npos);
  EXPECT_NE(fault_with("\"count\":7", "\"count\":-1").find("count"), std::string::npos);
  EXPECT_NE(fault_with(",\"count\":7", "").find("count"), std::string::npos);
  EXPECT_NE(fault_with("\"check\":\"races\",", "").find("check"), std::string::npos);
  EXPECT_NE(fault_with("\"it races\"", "[]").find("sentence"), std::string::npos);
  EXPECT_NE(fault_with("\"lesser\":true", "\"lesser\":1").find("lesser"), std::string::npos);
}

TEST(Json, BaselinesAreChecked) {
  auto fault_with = [](const std::string& from, const std::string& to) {
    RunInfo run{kOne, kTwo, kThree, "host", "completed", "", "steady", 0, {1}, 0, 0, {}, {}, true, {}};
    run.baseline = Baseline{5, "none", {}, {{0x10000, kThree}}, true, 0};
    std::string text = write(run);
    size_t at = text.find(from, text.find("\"baseline\""));
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    return fault_of([&] { parse_run(resealed(text), "a run"); });
  };
  EXPECT_EQ(fault_with("5", "2"), "none");
  EXPECT_EQ(fault_with("5", "0"), "none");
  EXPECT_NE(fault_with("5", "1").find("one execution shows nothing"), std::string::npos);
  EXPECT_NE(fault_with("5", "-5").find("executions"), std::string::npos);
  EXPECT_NE(fault_with("5", "5000000000").find("executions"), std::string::npos);
  EXPECT_NE(fault_with("\"none\"", "7").find("reason"), std::string::npos);
  EXPECT_NE(fault_with("\"reason\":\"none\",", "").find("reason"), std::string::npos);
  EXPECT_NE(fault_with("\"spread\":[]", "\"spread\":[1]").find("spread"), std::string::npos);
  EXPECT_NE(fault_with("0x10000", "0x10001").find("not the start of a block"), std::string::npos);
  EXPECT_NE(fault_with(kThree.hex(), "abc").find("bytes"), std::string::npos);
  EXPECT_NE(fault_with("true", "1").find("blocks_complete"), std::string::npos);
  EXPECT_NE(fault_with(",\"unlike\":0", "").find("unlike"), std::string::npos);
}

TEST(Json, TotalsAreWholeOrNotThere) {
  auto fault_with = [](const std::string& totals) {
    std::string text = R"({"occurrences":[],"skipped":[],"application":"","truncated":false,"totals":)" + totals;
    text += ",\"digest\":\"" + digest_of(text).hex() + "\"}";
    return fault_of([&] { parse_summary(text, "summary.json"); });
  };
  EXPECT_EQ(fault_with(R"({"kernels":[],"seen_bytes":1,"stored_bytes":1})"), "none");
  EXPECT_NE(fault_with(R"({"kernels":[],"seen_bytes":1})").find("stored_bytes"), std::string::npos);
  EXPECT_NE(fault_with(R"({"kernels":[],"stored_bytes":1})").find("seen_bytes"), std::string::npos);
  EXPECT_NE(fault_with(R"({"seen_bytes":1,"stored_bytes":1})").find("kernels"), std::string::npos);
  EXPECT_NE(fault_with("[]").find("totals"), std::string::npos);
  EXPECT_NE(fault_with(R"({"kernels":[{"kernel":"f","launches":-1,"recorded":0}],"seen_bytes":1,"stored_bytes":1})")
                .find("launches"),
            std::string::npos);
}

}  // namespace
}  // namespace mneme::bundle
