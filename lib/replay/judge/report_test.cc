// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/judge/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace mneme::verify {
namespace {

using testing::HasSubstr;
using testing::Not;

Row row(const std::string& name, Status status, std::vector<uint64_t> nanoseconds = {}) {
  Row row;
  row.kernel = {1, 1};
  row.name = name;
  row.instance = {2, 2};
  row.variant = {3, 3};
  row.configuration.passes = "default<O3>";
  row.verdict.status = status;
  if (status != Status::kVerified) row.verdict.reasons = {"because \"a < b\""};
  row.run.emplace();
  row.run->nanoseconds = std::move(nanoseconds);
  return row;
}

TEST(Times, AreRight) {
  EXPECT_EQ(fastest({3, 1, 2}), 1u);
  EXPECT_EQ(fastest({}), 0u);
}

TEST(JsonLine, NamesTheSegment) {
  Row r = row("k(int)", Status::kNotVerified, {5});
  r.verdict.segments = {{0, {}, false, 0, bundle::SegmentDifference{0x1000, 3, 7, 1, 2}}};
  std::string line = json_line(r, {{0x1000, 64, bundle::SegmentKind::kGlobal, "table", ""}});
  EXPECT_THAT(line, HasSubstr("\"address\":\"0x1000\",\"symbol\":\"table\",\"kind\":\"global\",\"size\":64"));
  EXPECT_THAT(line, HasSubstr("\"bytes\":3,\"offset\":7,\"expected\":1,\"actual\":2"));
  EXPECT_THAT(line, HasSubstr("\"reasons\":[\"because \\\"a < b\\\"\"]"));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
}

TEST(JsonLine, SaysHowTimesWereTaken) {
  Row r = row("k(int)", Status::kVerified, {5});
  EXPECT_THAT(json_line(r, {}), HasSubstr("\"cache\":\"warm\",\"min_ns\":5"));
  EXPECT_THAT(json_line(r, {}), Not(HasSubstr("rounds")));
  r.run->nanoseconds = {5, 5, 6, 6, 5, 500};
  r.run->rounds = 3;
  EXPECT_THAT(json_line(r, {}), HasSubstr("\"iterations\":6,\"rounds\":3,"));
  EXPECT_THAT(json_line(r, {}), HasSubstr("\"median_ns\":5,\"outliers\":1,"));
  r.run->cold = true;
  EXPECT_THAT(json_line(r, {}), HasSubstr("\"cache\":\"cold\",\"min_ns\":5"));
}

TEST(JsonLine, SaysWhatTheKernelChangedBesideMemory) {
  Row r = row("k(int)", Status::kVerified, {5});
  EXPECT_THAT(json_line(r, {}), Not(HasSubstr("stray_bytes")));
  r.run->stray_bytes = 3;
  EXPECT_THAT(json_line(r, {}), HasSubstr("\"stray_bytes\":3"));
}

TEST(JsonLine, SaysWhetherItIsFaster) {
  Row r = row("k(int)", Status::kVerified, {5});
  EXPECT_THAT(json_line(r, {}), Not(HasSubstr("comparison")));
  r.comparison = {{9, 9}, "too few rounds", {2, 0, 0, 3}};
  EXPECT_THAT(json_line(r, {}), HasSubstr("\"outcome\":\"too few rounds\",\"speedup\":2"));
  EXPECT_THAT(json_line(r, {}), Not(HasSubstr("confidence")));
  r.comparison = {{9, 9}, "faster", {2, 1.5, 2.5, 6}};
  EXPECT_THAT(json_line(r, {}), HasSubstr("\"low\":1.5,\"high\":2.5,\"confidence\":0.95}"));
}

TEST(Junit, TooSlowIsAFailure) {
  Row r = row("k(int)", Status::kVerified, {5});
  r.passed = true;
  r.comparison = {{9, 9}, "slower", {0.5, 0.25, 0.8, 6}, 1.5};
  EXPECT_THAT(json_line(r, {}), HasSubstr("\"speedup\":0.5,\"bound\":1.5,"));
  EXPECT_THAT(junit({r}), HasSubstr("tests=\"1\" failures=\"0\""));
  r.comparison->outcome = kTooSlow;
  EXPECT_THAT(junit({r}), HasSubstr("tests=\"1\" failures=\"1\" errors=\"0\""));
  EXPECT_THAT(junit({r}), HasSubstr("<failure message=\"too slow: it takes 2.000 times (1.250 to 4.000) as long as "));
  EXPECT_THAT(junit({r}), HasSubstr("more than the 1.5 that it may\"/>"));
}

TEST(Junit, HasNothingThatNoXmlMayHave) {
  Row r = row("k\x01<\xEF\xBF\xBE\xEF\xBF\xBFö", Status::kVerified, {5});
  EXPECT_THAT(junit({r}), HasSubstr("classname=\"k?&lt;??ö\""));
}

TEST(Table, SaysWhetherItIsFaster) {
  Row r = row("k(int)", Status::kVerified, {5});
  EXPECT_THAT(table({r}), Not(HasSubstr("SPEED-UP")));
  Row compared = r;
  compared.comparison = {{9, 9}, "faster", {2, 1.5, 2.5, 6}};
  std::string text = table({r, compared});
  EXPECT_THAT(text, HasSubstr("SPEED-UP"));
  EXPECT_THAT(text, HasSubstr("2.000 (1.500 to 2.500) faster"));
}

TEST(JsonLine, HasThePolicyAndTheWorstElement) {
  Row r = row("k(int)", Status::kNotVerified, {5});
  bundle::Observation observation{"f32", 16, 2, 0, {}, {0.5, 0.5, 0.5, 3, std::string(4, '\0'), {0, 0, 0, 64}}};
  Policy policy{ElementType::kF32, 0.25, Kind::kRelative, Norm::kLinf, "out"};
  r.verdict.segments = {{0, {policy, Source::kAnnotation}, false, 0.5, bundle::SegmentDifference{0x1000, 3, 7, 1, 2}}};
  r.verdict.segments[0].difference->observation = observation;
  std::string line = json_line(r, {{0x1000, 64, bundle::SegmentKind::kHeap, "", ""}});
  EXPECT_THAT(line,
              HasSubstr(R"("verified":false,"policy":"annotation","tag":"out","dtype":"f32","error_kind":"relative",)"
                        R"("norm":"linf","error":0.5,"threshold":0.25,"elements":16,"differ":2,)"
                        R"("worst":{"index":3,"expected":"0","actual":"2"},)"
                        R"("errors":{"dtype":"f32","absolute":0.0,"relative":0.5},"bytes":3)"));
  bundle::Observation& measured = *r.verdict.segments[0].difference->observation;
  measured.scale = 4;
  measured.scaled = bundle::ErrorNorms{0.25, 0.25, 0.25, 5, std::string(4, '\0'), {0, 0, 0, 64}};
  measured.ulps = bundle::ErrorNorms{7, 7, 7, 0, "", ""};
  r.verdict.segments[0].choice.policy->kind = Kind::kScaled;
  line = json_line(r, {{0x1000, 64, bundle::SegmentKind::kHeap, "", ""}});
  EXPECT_THAT(line, HasSubstr(R"("error_kind":"scaled",)"));
  EXPECT_THAT(line,
              HasSubstr(R"("worst":{"index":5,"expected":"0","actual":"2"},"errors":{"dtype":"f32","absolute":0.0,)"
                        R"("relative":0.5,"scaled":0.25,"scale":4.0,"ulps":7.0},"bytes":3)"));
}

TEST(JsonLine, SaysWhatAssembledCodeTakes) {
  Row r = row("k(int)", Status::kVerified, {5});
  EXPECT_THAT(json_line(r, {}), Not(HasSubstr("registers")));
  r.configuration.assembler = "ptxas";
  r.configuration.max_registers = 32;
  r.resources = bundle::Resources{30, 440, 16, 24, 256, {}};
  EXPECT_THAT(json_line(r, {}),
              HasSubstr(R"("assembler":"ptxas","ptxas_level":3,"max_registers":32,"registers":30,"stack_bytes":440,)"
                        R"("spill_store_bytes":16,"spill_load_bytes":24,"shared_bytes":256,"status")"));
  r.occupancy = 48;
  EXPECT_THAT(json_line(r, {}), HasSubstr(R"("shared_bytes":256,"occupancy":48,"status")"));
}

TEST(JsonLine, HasTheWholeConfiguration) {
  Row r = row("k(int)", Status::kVerified, {5});
  r.configuration.fast_math = "nnan";
  r.configuration.attributes = "minsize";
  r.configuration.grid = {4, 1, 1};
  r.configuration.block = {16, 16, 1};
  EXPECT_THAT(json_line(r, {}), HasSubstr("\"configuration\":" + bundle::write(r.configuration) + ","));
}

// Three variants of one kernel, and one of another that has what one of these has.
std::vector<Row> variants_alike() {
  std::vector<Row> rows(4, row("k", Status::kVerified, {5}));
  for (size_t i = 0; i < rows.size(); i++) rows[i].variant = {i + 1, 1};
  rows[1].configuration.block = {16, 16, 1};
  rows[1].configuration.instance = rows[1].instance;
  rows[1].configuration.attributes = "key=" + std::string(200, 'x') + "\n";
  rows[2].configuration.fuse = true;
  rows[2].configuration.ir = {0x1234567812345678, 1};
  rows[2].configuration.codegen_opt = 1;
  rows[3].kernel = {7, 7};
  rows[3].configuration.fuse = true;
  return rows;
}

TEST(Settings, TellVariantsOfAKernelApart) {
  std::vector<std::string> settings = distinguishing_settings(variants_alike());
  ASSERT_EQ(settings.size(), 4u);
  EXPECT_EQ(settings[0], "codegen_opt=3");
  EXPECT_THAT(settings[1], HasSubstr("codegen_opt=3 attributes=key=xxxx"));
  EXPECT_THAT(settings[1], HasSubstr("xxxx? block=16,16"));
  EXPECT_LT(settings[1].size(), 140u);
  EXPECT_EQ(settings[2], "codegen_opt=1 fuse ir=" + short_hash(variants_alike()[2].configuration.ir));
  EXPECT_EQ(settings[3], "") << "the only variant of its kernel";
}

TEST(Table, ShowsSettingsWhereTheyDiffer) {
  std::vector<Row> rows = variants_alike();
  std::string text = table(rows);
  EXPECT_THAT(text, HasSubstr("PASSES       SETTINGS"));
  EXPECT_THAT(text, HasSubstr("default<O3>  codegen_opt=1 fuse ir="));
  EXPECT_THAT(text, HasSubstr("default<O3>  -  "));
  EXPECT_THAT(junit(rows), HasSubstr(" default&lt;O3&gt; codegen_opt=1 fuse ir="));
  rows[0].configuration.passes = "default<O1>";
  EXPECT_THAT(table({rows[0], rows[3]}), Not(HasSubstr("SETTINGS")));
  EXPECT_THAT(table({rows[0], rows[0]}), Not(HasSubstr("SETTINGS")));
}

TEST(Table, ShowsTheWorstFirstAndOneScreenful) {
  std::vector<Row> rows(100, row("good", Status::kVerified, {1}));
  rows.push_back(row("bad", Status::kNotVerified, {1}));
  rows.back().verdict.reasons = {"one", "two", "three", "four", "five"};
  std::string text = table(rows, 20);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 20);
  EXPECT_LT(text.find("bad"), text.find("good"));
  EXPECT_THAT(text, HasSubstr("    three\n    and 2 more\n"));
  EXPECT_THAT(text, HasSubstr("and 87 more, 0 of them not verified; 100 of 101 runs verified\n"));
}

TEST(Table, ShowsBeginningAndEndOfLongNames) {
  std::string middle(84'000, 'x');
  Row r = row("void run<Functor<" + middle + "> >(int, float*)", Status::kVerified, {5});
  std::string text = table({r});
  EXPECT_LT(text.size(), 1000u);
  EXPECT_THAT(text, HasSubstr("void run<Functor<" + std::string(42, 'x') + "…"));
  EXPECT_THAT(text, HasSubstr("…xxxx> >(int, float*)  "));
  EXPECT_THAT(json_line(r, {}), HasSubstr(middle));
  // No character is cut.
  std::string two;
  for (int i = 0; i < 100; ++i) two += "ö";
  EXPECT_THAT(table({row("k" + two, Status::kVerified, {5})}), HasSubstr("köö"));
}

TEST(Table, SaysWhatWasInferred) {
  Row r = row("k", Status::kVerified, {1});
  Policy f32{ElementType::kF32, 0.0001, Kind::kRelative, Norm::kLinf}, f64{ElementType::kF64, 0, Kind::kRelative};
  r.verdict.segments = {{0, {f32, Source::kInferred}}, {1, {f64, Source::kAnnotation}}, {2, {std::nullopt}}};
  EXPECT_THAT(table({r, r}), HasSubstr("2 of 2 runs verified; inferred: f32 relative linf <= 0.0001 of 2 segments\n"));
  r.verdict.segments[0].choice.source = Source::kOption;
  EXPECT_THAT(table({r}), HasSubstr("1 of 1 runs verified\n"));
}

TEST(Table, CountsSegmentsInWhichAnythingPasses) {
  Row r = row("k", Status::kVerified, {1});
  Policy any{ElementType::kI64, std::numeric_limits<double>::infinity()}, some{ElementType::kI64, 1e300};
  r.verdict.segments = {{0, {any, Source::kOption}}, {1, {some, Source::kOption}}, {2, {std::nullopt}}};
  EXPECT_THAT(table({r}), HasSubstr("1 of 1 runs verified; any result passes in 1 segment (threshold inf)\n"));
  r.verdict.segments.erase(r.verdict.segments.begin());
  EXPECT_THAT(table({r}), HasSubstr("1 of 1 runs verified\n"));
}

TEST(Table, AlignsItsColumns) {
  std::string text =
      table({row("short", Status::kVerified, {1500, 2500}), row("a much longer name\x1b[31m", Status::kFailed)});
  std::vector<std::string> lines;
  for (size_t start = 0, end; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
    lines.push_back(text.substr(start, end - start));
  }
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0].find("INSTANCE"), lines[1].find("000000000000"));
  EXPECT_THAT(lines[1], HasSubstr("-        -  failed"));
  EXPECT_EQ(lines[2], "    because \"a < b\"");
  EXPECT_THAT(lines[3], HasSubstr("1500 ns  2000 ns  verified"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_EQ(lines[4], "1 of 2 runs verified");
}

TEST(Junit, EscapesAndCounts) {
  std::string xml = junit(
      {row("k<float>(\"&\")", Status::kVerified, {1000}), row("k", Status::kNotVerified), row("k", Status::kFailed)});
  EXPECT_THAT(xml, HasSubstr("tests=\"3\" failures=\"1\" errors=\"1\""));
  EXPECT_THAT(xml, HasSubstr("classname=\"k&lt;float&gt;(&quot;&amp;&quot;)\""));
  EXPECT_THAT(xml, HasSubstr("time=\"0.000001000\""));
  EXPECT_THAT(xml, HasSubstr("<failure message=\"because &quot;a &lt; b&quot;\"/>"));
  EXPECT_THAT(xml, HasSubstr("<error message="));
}

// Two of which one passes all the same.
std::vector<Row> varying() {
  std::vector<Row> rows{row("good", Status::kVerified, {1}), row("strict", Status::kVaries, {1}),
                        row("lenient", Status::kVaries, {1}), row("bad", Status::kNotVerified, {1})};
  rows[0].passed = rows[2].passed = true;
  return rows;
}

TEST(JsonLine, SaysHowItVaries) {
  Row r = varying()[2];
  r.run->baseline = bundle::Baseline{5, "", {{0x1000, 1, 0, 1, 2}}, {}, true, 3};
  r.verdict.segments = {{0, {}, false, 0, bundle::SegmentDifference{0x1000, 3, 7, 1, 2}}};
  r.verdict.segments[0].difference->steady = 0;
  r.verdict.segments[0].varies = true;
  std::string line = json_line(r, {{0x1000, 64, bundle::SegmentKind::kHeap, "", ""}});
  EXPECT_THAT(line, HasSubstr(R"("status":"varies","verified":true)"));
  EXPECT_THAT(line, HasSubstr(R"("baseline":{"executions":5,"reason":"","varying_segments":1,"unlike_bytes":3})"));
  EXPECT_THAT(line, HasSubstr(R"("actual":2,"steady":0,"varies":true})"));
  EXPECT_THAT(json_line(varying()[1], {}), HasSubstr(R"("status":"varies","verified":false)"));
}

TEST(Table, CountsWhatVariesByItself) {
  std::string text = table(varying());
  EXPECT_LT(text.find("bad"), text.find("strict"));
  EXPECT_LT(text.find("lenient"), text.find("good"));
  EXPECT_THAT(text, HasSubstr("1 of 4 runs verified, 2 differing as much as by themselves\n"));
}

TEST(Junit, LetsPassWhatPassesAndSaysSo) {
  std::string xml = junit(varying());
  EXPECT_THAT(xml, HasSubstr("tests=\"4\" failures=\"2\" errors=\"0\""));
  EXPECT_THAT(xml, HasSubstr("<failure message=\"varies: because"));
  EXPECT_THAT(xml, HasSubstr("<system-out>varies: because"));
}

}  // namespace
}  // namespace mneme::verify
