// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  EXPECT_EQ(median({3, 1, 2}), 2u);
  EXPECT_EQ(median({4, 1, 2, 3}), 2u);
  EXPECT_EQ(median({UINT64_MAX, UINT64_MAX}), UINT64_MAX);
  EXPECT_EQ(fastest({}), 0u);
  EXPECT_EQ(median({}), 0u);
}

TEST(JsonLine, NamesTheSegment) {
  Row r = row("k(int)", Status::kNotVerified, {5});
  r.run->differences = {{0x1000, 3, 7, 1, 2}};
  std::string line = json_line(r, {{0x1000, 64, bundle::SegmentKind::kGlobal, "table", ""}});
  EXPECT_THAT(line, HasSubstr("\"address\":\"0x1000\",\"symbol\":\"table\",\"kind\":\"global\",\"size\":64"));
  EXPECT_THAT(line, HasSubstr("\"bytes\":3,\"offset\":7,\"expected\":1,\"actual\":2"));
  EXPECT_THAT(line, HasSubstr("\"reasons\":[\"because \\\"a < b\\\"\"]"));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
}

TEST(Table, AlignsItsColumns) {
  std::string text =
      table({row("short", Status::kVerified, {1500, 2500}), row("a much longer name\x1b[31m", Status::kFailed)});
  std::vector<std::string> lines;
  for (size_t start = 0, end; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
    lines.push_back(text.substr(start, end - start));
  }
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0].find("INSTANCE"), lines[1].find("000000000000"));
  EXPECT_THAT(lines[1], HasSubstr("1500 ns  2000 ns  verified"));
  EXPECT_THAT(lines[2], HasSubstr("-        -  failed"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_EQ(lines[3], "1 of 2 runs verified");
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

}  // namespace
}  // namespace mneme::verify
