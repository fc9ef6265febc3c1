// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/segment_runs.h"

#include <algorithm>

#include "base/error.h"

namespace mneme::bundle {
namespace {

constexpr size_t kLeast = 16;  // fewer are listed one by one: people read this

bool is_plain(const Segment& segment) { return segment.symbol.empty() && segment.annotation.empty(); }

}  // namespace

size_t run_length(std::span<const Segment> segments) {
  if (segments.size() < kLeast || !is_plain(segments[0])) return std::min<size_t>(1, segments.size());
  const Segment& first = segments[0];
  uint64_t stride = segments[1].address - first.address;
  size_t length = 1;
  for (; length < segments.size(); ++length) {
    const Segment& next = segments[length];
    bool alike = next.size == first.size && next.kind == first.kind && next.device == first.device && is_plain(next);
    if (!alike || next.address - segments[length - 1].address != stride) break;
  }
  return length < kLeast ? 1 : length;
}

uint64_t count_entries(std::span<const Segment> segments) {
  uint64_t entries = 0;
  for (; !segments.empty(); ++entries) segments = segments.subspan(run_length(segments));
  return entries;
}

void write_repetition(json::Text& out, std::span<const Segment> run) {
  if (run.size() == 1) return;
  out.add("count", run.size()).add("stride", run[1].address - run[0].address);
}

void parse_repetition(const json::Object& in, Segment first, std::vector<Segment>& segments) {
  uint64_t count = in.has("count") ? in.number("count") : 1, stride = 0;
  if (count == 0) in.fail("count", "is 0");
  if (count > kMaxSegments - std::min<uint64_t>(kMaxSegments, segments.size())) {
    in.fail("count", fmt::format("makes more than {} segments", kMaxSegments));
  }
  if (count > 1) {
    stride = in.number("stride");
    if (stride < first.size) in.fail("stride", "is less than the size");
    if (!is_plain(first)) in.fail("count", "is given for a segment with a symbol or an annotation");
    if (stride > (UINT64_MAX - kBlockSize - first.size - first.address) / (count - 1)) {
      in.fail("stride", "goes beyond the last address");
    }
  }
  for (; count > 1; --count, first.address += stride) segments.push_back(first);
  segments.push_back(std::move(first));
}

}  // namespace mneme::bundle
