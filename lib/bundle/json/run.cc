// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// runs/….json.
#include <cmath>

#include "base/error.h"
#include "bundle/checks.h"
#include "bundle/format.h"
#include "bundle/json/json.h"

namespace mneme::bundle {
namespace {

constexpr size_t kMaxElement = 16;  // bytes

void write_norms(json::Text& out, const char* key, const ErrorNorms& norms) {
  out.open(key).add("linf", norms.linf).add("l1", norms.l1).add("l2", norms.l2).add("worst", norms.worst);
  out.add("expected", to_hex(bytes_of(norms.expected))).add("actual", to_hex(bytes_of(norms.actual))).close();
}

ErrorNorms parse_norms(const json::Object& in, const char* key) {
  ErrorNorms norms;
  in.object(key, [&](json::Object object) {
    auto norm = [&](const char* name) {
      double value = object.real(name);
      if (value < 0) object.fail(name, "is negative");
      return value;
    };
    norms = {norm("linf"),
             norm("l1"),
             norm("l2"),
             object.number("worst"),
             object.hex_bytes("expected", kMaxElement),
             object.hex_bytes("actual", kMaxElement)};
  });
  return norms;
}

void write_observation(json::Text& out, const Observation& observation) {
  out.open("observation").add("type", observation.type).add("elements", observation.elements);
  out.add("differ", observation.differ).add("tail", observation.tail);
  write_norms(out, "absolute", observation.absolute);
  write_norms(out, "relative", observation.relative);
  if (observation.scale && observation.scaled && observation.ulps) {
    out.add("scale", *observation.scale);
    write_norms(out, "scaled", *observation.scaled);
    write_norms(out, "ulps", *observation.ulps);
  }
  out.close();
}

Observation parse_observation(const json::Object& in) {
  Observation observation{in.text("type"),   in.number("elements"),       in.number("differ"),
                          in.number("tail"), parse_norms(in, "absolute"), parse_norms(in, "relative")};
  if (!in.has("scale")) return observation;
  observation.scale = in.real("scale");
  if (!(*observation.scale >= 0) || !std::isfinite(*observation.scale))
    in.fail("scale", "is not a number of 0 or more");
  observation.scaled = parse_norms(in, "scaled");
  observation.ulps = parse_norms(in, "ulps");
  return observation;
}

void write_differences(json::Text& out, const char* key, const std::vector<SegmentDifference>& differences) {
  out.open_array(key);
  for (const SegmentDifference& difference : differences) {
    out.open().add_address("address", difference.address).add("bytes", difference.bytes);
    out.add("first", difference.first).add("expected", difference.expected).add("actual", difference.actual);
    if (difference.observation) write_observation(out, *difference.observation);
    if (difference.steady) out.add("steady", *difference.steady);
    out.close();
  }
  out.close_array();
}

std::vector<SegmentDifference> parse_differences(const json::Object& in, const char* key) {
  std::vector<SegmentDifference> differences;
  in.each(key, [&](json::Object difference) {
    differences.push_back({difference.address("address"), difference.number("bytes"), difference.number("first"),
                           difference.number32("expected", 255), difference.number32("actual", 255)});
    if (difference.has("steady")) differences.back().steady = difference.number("steady");
    if (!difference.has("observation")) return;
    difference.object("observation", [&](json::Object observation) {
      differences.back().observation = parse_observation(observation);
    });
  });
  return differences;
}

uint64_t parse_block_address(const json::Object& block) {
  uint64_t address = block.address("address");
  if (address % kBlockSize != 0) block.fail("address", "is not the start of a block");
  return address;
}

void write_baseline(json::Text& out, const Baseline& baseline) {
  out.open("baseline").add("executions", baseline.executions).add("reason", baseline.reason);
  write_differences(out, "spread", baseline.spread);
  out.open_array("blocks");
  for (const VaryingBlock& block : baseline.blocks) {
    out.open().add_address("address", block.address).add("bytes", block.bytes).close();
  }
  out.close_array().add("blocks_complete", baseline.blocks_complete).add("unlike", baseline.unlike).close();
}

Baseline parse_baseline(const json::Object& in) {
  Baseline baseline;
  baseline.executions = in.number32("executions");
  baseline.reason = in.text("reason");
  if (baseline.executions == 1) in.fail("executions", "is 1, and one execution shows nothing");
  baseline.spread = parse_differences(in, "spread");
  in.each("blocks",
          [&](json::Object block) { baseline.blocks.push_back({parse_block_address(block), block.digest("bytes")}); });
  baseline.blocks_complete = in.boolean("blocks_complete");
  baseline.unlike = in.number("unlike");
  return baseline;
}

}  // namespace

void write_findings(json::Text& out, const std::vector<Finding>& findings) {
  out.open_array("findings");
  for (const Finding& finding : findings) {
    out.open().add("check", finding.check).add("kind", finding.kind).add("sentence", finding.sentence);
    out.add("line", finding.line);
    if (!finding.other.empty()) out.add("other", finding.other);
    if (finding.lesser) out.add("lesser", true);
    out.add("count", finding.count).close();
  }
  out.close_array();
}

namespace {

std::vector<Finding> parse_findings(const json::Object& in) {
  std::vector<Finding> findings;
  in.each("findings", [&](json::Object one) {
    Finding finding;
    finding.check = one.text("check");
    finding.kind = one.text("kind");
    finding.sentence = one.text("sentence");
    finding.line = one.text("line");
    if (one.has("other")) finding.other = one.text("other");
    if (one.has("lesser")) finding.lesser = one.boolean("lesser");
    finding.count = one.number("count");
    if (finding.count == 0) one.fail("count", "is 0, and what is found is found once at least");
    findings.push_back(std::move(finding));
  });
  return findings;
}

}  // namespace

std::string write(const RunInfo& info) {
  json::Text out;
  out.open().add("kernel", info.kernel).add("instance", info.instance).add("variant", info.variant);
  out.add("device", info.device).add("status", info.status).add("reason", info.reason).add("clock", info.clock);
  out.add("warmup", info.warmup).add_all("nanoseconds", info.nanoseconds);
  if (info.rounds > 1) out.add("rounds", info.rounds);
  if (info.cold) out.add("cache", "cold");
  out.add("changed_bytes", info.changed_bytes).add("compared_bytes", info.compared_bytes);
  if (info.stray_bytes > 0) out.add("stray_bytes", info.stray_bytes);
  write_differences(out, "differences", info.differences);
  out.open_array("blocks");
  for (const BlockDifference& block : info.blocks) {
    out.open().add_address("address", block.address).add("expected", block.expected).add("actual", block.actual);
    out.close();
  }
  out.close_array().add("blocks_complete", info.blocks_complete);
  if (!info.others.empty()) {
    out.open_array("others");
    for (const auto& differences : info.others) {
      out.open();
      write_differences(out, "differences", differences);
      out.close();
    }
    out.close_array();
  }
  if (info.baseline) write_baseline(out, *info.baseline);
  if (!info.findings.empty()) write_findings(out, info.findings);
  if (!info.same_as.empty()) out.add("same_as", info.same_as);
  return out.close().sealed();
}

RunInfo parse_run(std::string_view text, const std::string& where) {
  json::Document document(text, where);
  json::refuse_wrong_seal(text, where);
  json::Object in(document);
  RunInfo info;
  info.kernel = in.digest("kernel");
  info.instance = in.digest("instance");
  info.variant = in.digest("variant");
  info.device = in.text("device");
  constexpr std::string_view kStatus[] = {"completed", "failed"};
  info.status = kStatus[in.choice("status", {kStatus[0], kStatus[1]})];
  info.reason = in.text("reason");
  info.clock = in.text("clock");
  info.warmup = in.number32("warmup");
  info.nanoseconds = in.numbers("nanoseconds");
  if (in.has("rounds")) info.rounds = in.number32("rounds");
  if (info.rounds == 0 || info.nanoseconds.size() % info.rounds != 0)
    in.fail("rounds", "is not what the times come from");
  if (in.has("cache")) info.cold = in.choice("cache", {"warm", "cold"}) == 1;
  info.changed_bytes = in.number("changed_bytes");
  info.compared_bytes = in.number("compared_bytes");
  if (in.has("stray_bytes")) info.stray_bytes = in.number("stray_bytes");
  info.differences = parse_differences(in, "differences");
  in.each("blocks", [&](json::Object block) {
    info.blocks.push_back({parse_block_address(block), block.digest("expected"), block.digest("actual")});
  });
  info.blocks_complete = in.boolean("blocks_complete");
  if (in.has("others"))
    in.each("others", [&](json::Object other) { info.others.push_back(parse_differences(other, "differences")); });
  if (in.has("baseline")) {
    in.object("baseline", [&](json::Object baseline) { info.baseline = parse_baseline(baseline); });
  }
  if (in.has("findings")) info.findings = parse_findings(in);
  if (in.has("same_as")) info.same_as = in.digest("same_as");
  return info;
}

}  // namespace mneme::bundle
