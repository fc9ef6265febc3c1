// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/segment_runs.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace mneme::bundle {
namespace {

constexpr uint64_t kBase = 0x400000000000;

Segment piece(uint64_t offset, uint64_t size) { return {kBase + offset, size, SegmentKind::kHeap, {}, {}}; }

std::vector<Segment> pieces(size_t count, uint64_t size, uint64_t stride) {
  std::vector<Segment> segments;
  for (size_t i = 0; i < count; ++i) segments.push_back(piece(i * stride, size));
  return segments;
}

std::string json_of(std::vector<Segment> segments) {
  InstanceInfo info;
  info.id = info.kernel = info.prologue = info.epilogue = digest_of("something");
  info.segments = std::move(segments);
  return write(info);
}

size_t entries_in(const std::string& json) {
  size_t entries = 0;
  for (size_t at = 0; (at = json.find("\"address\"", at)) != std::string::npos; ++at) ++entries;
  return entries;
}

// What comes back of them is the same; how many entries they took.
size_t entries_of(const std::vector<Segment>& segments) {
  std::string json = json_of(segments);
  std::vector<Segment> back = parse_instance(json, "it").segments;
  EXPECT_EQ(back.size(), segments.size());
  EXPECT_EQ(json_of(back), json);
  for (size_t i = 0; i < std::min(back.size(), segments.size()); ++i) {
    EXPECT_EQ(back[i].address, segments[i].address) << i;
    EXPECT_EQ(back[i].size, segments[i].size) << i;
    EXPECT_EQ(back[i].kind, segments[i].kind) << i;
    EXPECT_EQ(back[i].symbol, segments[i].symbol) << i;
    EXPECT_EQ(back[i].annotation, segments[i].annotation) << i;
    EXPECT_EQ(back[i].device, segments[i].device) << i;
  }
  EXPECT_EQ(count_entries(segments), entries_in(json));
  return entries_in(json);
}

TEST(SegmentRuns, ManyAlikeAreOneEntry) {
  EXPECT_EQ(entries_of(pieces(100'000, 256, 256)), 1u);
  EXPECT_EQ(entries_of(pieces(100'000, 100, 4096)), 1u);
  EXPECT_EQ(entries_of({}), 0u);
  EXPECT_EQ(entries_of(pieces(1, 100, 256)), 1u);
  EXPECT_EQ(entries_of(pieces(15, 100, 256)), 15u) << "people read it";
  EXPECT_NE(json_of(pieces(16, 100, 256)).find(R"("size":100,"kind":"heap","count":16,"stride":256})"),
            std::string::npos);
}

TEST(SegmentRuns, WhatDiffersEndsThem) {
  std::vector<Segment> segments = pieces(100, 256, 512);
  segments[20].kind = SegmentKind::kHost;
  EXPECT_EQ(entries_of(segments), 3u);
  segments[40].annotation = R"({"dtype":"f32"})";
  EXPECT_EQ(entries_of(segments), 5u);
  segments[60].kind = SegmentKind::kGlobal;
  segments[60].symbol = "variable";
  EXPECT_EQ(entries_of(segments), 7u);
  segments[80].size = 300;
  EXPECT_EQ(entries_of(segments), 9u);
  segments[98].device = 1;
  EXPECT_EQ(entries_of(segments), 11u) << "the last piece stands alone";
  segments = pieces(100, 256, 512);
  for (size_t i = 50; i < 100; ++i) segments[i].address += 256;
  EXPECT_EQ(entries_of(segments), 2u) << "a gap";
}

std::string fault_of(const std::string& keys) {
  std::string json = json_of(pieces(1, 100, 256));
  json.erase(json.rfind(",\"digest\""));
  json.replace(json.find("\"size\":100"), 10, keys);
  json += ",\"digest\":\"" + digest_of(json).hex() + "\"}";
  try {
    parse_instance(json, "it");
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(SegmentRuns, DistrustsThem) {
  EXPECT_EQ(fault_of(R"("size":100,"count":20,"stride":100)"), "");
  EXPECT_EQ(fault_of(R"("size":100,"count":0,"stride":100)"), "it: 'segments[0].count' is 0");
  EXPECT_EQ(fault_of(R"("size":100,"count":20)"), "it: 'segments[0].stride' is missing");
  EXPECT_EQ(fault_of(R"("size":100,"count":20,"stride":99)"), "it: 'segments[0].stride' is less than the size");
  EXPECT_EQ(fault_of(R"("size":100,"count":2097153,"stride":100)"),
            "it: 'segments[0].count' makes more than 2097152 segments");
  EXPECT_EQ(fault_of(R"("size":100,"count":18446744073709551615,"stride":18446744073709551615)"),
            "it: 'segments[0].count' makes more than 2097152 segments");
  EXPECT_EQ(fault_of(R"("size":100,"count":2000000,"stride":18446744073709551615)"),
            "it: 'segments[0].stride' goes beyond the last address");
  EXPECT_EQ(fault_of(R"("size":100,"symbol":"v","count":20,"stride":100)"),
            "it: 'segments[0].count' is given for a segment with a symbol or an annotation");
}

}  // namespace
}  // namespace mneme::bundle
