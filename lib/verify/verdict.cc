// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/verdict.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "verify/compare.h"
#include "verify/layout.h"

namespace mneme::verify {
namespace {

using bundle::SegmentDifference;

const bundle::Segment* segment_at(const bundle::InstanceInfo& instance, uint64_t address) {
  auto found = std::lower_bound(instance.segments.begin(), instance.segments.end(), address,
                                [](const bundle::Segment& s, uint64_t a) { return s.address < a; });
  return found != instance.segments.end() && found->address == address ? &*found : nullptr;
}

std::string name_difference(const bundle::Segment& segment, const SegmentDifference& difference) {
  return fmt::format("{}: {} of {} bytes differ, the first at offset {}: {:#04x} was recorded, {:#04x} replayed",
                     describe(segment), difference.bytes, segment.size, difference.first, difference.expected,
                     difference.actual);
}

// What is impossible in a list of differences, if anything.
std::optional<std::string> contradiction(const bundle::InstanceInfo& instance,
                                         const std::vector<SegmentDifference>& differences) {
  uint64_t after = 0;
  for (const SegmentDifference& difference : differences) {
    const bundle::Segment* segment = segment_at(instance, difference.address);
    if (!segment) return fmt::format("it lists a segment at {:#x}, which the instance lacks", difference.address);
    if (difference.address < after) return "it lists a segment twice";
    after = difference.address + 1;
    if (difference.bytes == 0 || difference.bytes > segment->size || difference.first >= segment->size ||
        difference.expected > 255 || difference.actual > 255 || difference.expected == difference.actual) {
      return fmt::format("its difference in the {} is impossible", describe(*segment));
    }
  }
  return std::nullopt;
}

bool same(const SegmentDifference& a, const SegmentDifference& b) {
  return a.address == b.address && a.bytes == b.bytes && a.first == b.first && a.expected == b.expected &&
         a.actual == b.actual;
}

// Derives the differences again from the blocks stored with the run.
std::optional<std::string> check_blocks(const bundle::InstanceInfo& instance, const bundle::RunInfo& run,
                                        const Blocks& blocks) {
  Layout layout(instance.segments);
  Comparison comparison(layout);
  for (size_t i = 0; i < run.blocks.size(); i++) {
    const bundle::BlockDifference& block = run.blocks[i];
    if ((i > 0 && block.address <= run.blocks[i - 1].address) || !layout.covers(block.address) ||
        block.address % bundle::kBlockSize != 0) {
      return fmt::format("its block at {:#x} is listed twice or belongs to no segment", block.address);
    }
    comparison.add(block.address, blocks(block.expected), blocks(block.actual));
  }
  std::vector<SegmentDifference> derived = comparison.differences();
  if (run.blocks_complete) {
    if (!std::equal(derived.begin(), derived.end(), run.differences.begin(), run.differences.end(), same)) {
      return std::string("the blocks stored with it show other differences than it lists");
    }
    return std::nullopt;
  }
  for (const SegmentDifference& part : derived) {
    auto whole = std::find_if(run.differences.begin(), run.differences.end(),
                              [&](const SegmentDifference& d) { return d.address == part.address; });
    if (whole == run.differences.end() || whole->bytes < part.bytes || whole->first > part.first) {
      return std::string("the blocks stored with it show differences that it does not list");
    }
  }
  return std::nullopt;
}

}  // namespace

std::string to_string(Status status) {
  switch (status) {
    case Status::kVerified:
      return "verified";
    case Status::kFailed:
      return "failed";
    case Status::kNotVerified:
      break;
  }
  return "not verified";
}

std::string describe(const bundle::Segment& segment) {
  const char* kind = segment.kind == bundle::SegmentKind::kGlobal ? "global"
                     : segment.kind == bundle::SegmentKind::kHost ? "host"
                                                                  : "heap";
  if (!segment.symbol.empty()) return fmt::format("segment '{}' ({}) at {:#x}", segment.symbol, kind, segment.address);
  return fmt::format("segment at {:#x} ({})", segment.address, kind);
}

Verdict judge(const bundle::InstanceInfo& instance, const bundle::RunInfo& run, const Blocks& blocks) {
  if (run.status == "failed") {
    return {Status::kFailed, {run.reason.empty() ? "the run failed and does not say why" : run.reason}};
  }
  Verdict verdict;
  auto refuse = [&](std::string reason) {
    verdict.status = Status::kNotVerified;
    verdict.reasons.push_back(std::move(reason));
  };
  if (run.status != "completed") {
    refuse(fmt::format("the run's status '{}' is neither completed nor failed", run.status));
    return verdict;
  }
  if (run.nanoseconds.empty()) refuse("nothing was executed");

  uint64_t total = 0;
  for (const bundle::Segment& segment : instance.segments) total += segment.size;
  if (run.compared_bytes != total) {
    refuse(fmt::format("{} of {} bytes of memory were compared", run.compared_bytes, total));
  }
  std::optional<std::string> wrong = contradiction(instance, run.differences);
  if (!wrong) wrong = check_blocks(instance, run, blocks);
  if (wrong) {
    refuse("the run is not believable: " + *wrong);
    return verdict;
  }
  for (const SegmentDifference& difference : run.differences) {
    refuse(name_difference(*segment_at(instance, difference.address), difference));
  }
  if (run.changed_bytes == 0 && instance.prologue != instance.epilogue) {
    refuse("the replay changed no memory, although the recorded launch did");
  }
  return verdict;
}

}  // namespace mneme::verify
