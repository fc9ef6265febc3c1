// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/judge/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bundle/checks.h"
#include "bundle/configuration.h"
#include "bundle/json/json.h"
#include "verify/baseline.h"

namespace mneme::verify {
namespace {

const char* kind_of(const bundle::Segment& segment) {
  switch (segment.kind) {
    case bundle::SegmentKind::kGlobal:
      return "global";
    case bundle::SegmentKind::kHost:
      return "host";
    case bundle::SegmentKind::kHeap:
      break;
  }
  return "heap";
}

void write_worst(bundle::json::Text& out, const Policy& policy, const bundle::Observation& observation) {
  const bundle::ErrorNorms* norms = norms_by(policy, observation);
  out.add("elements", observation.elements).add("differ", observation.differ);
  if (observation.differ == 0 || !norms) return;
  out.open("worst").add("index", norms->worst);
  out.add("expected", element_text(policy.type, bytes_of(norms->expected)));
  out.add("actual", element_text(policy.type, bytes_of(norms->actual))).close();
}

// The largest errors of each kind, as far as they are known.
void write_errors(bundle::json::Text& out, const bundle::Observation& observation) {
  out.open("errors").add("dtype", observation.type);
  out.add("absolute", observation.absolute.linf).add("relative", observation.relative.linf);
  if (observation.scaled) out.add("scaled", observation.scaled->linf).add("scale", observation.scale.value_or(0));
  if (observation.ulps) out.add("ulps", observation.ulps->linf);
  out.close();
}

void write_segment(bundle::json::Text& out, const SegmentVerdict& verdict, const bundle::Segment& segment) {
  const std::optional<Policy>& policy = verdict.choice.policy;
  out.open().add_address("address", segment.address).add("symbol", segment.symbol).add("kind", kind_of(segment));
  if (!verdict.choice.arguments.empty()) out.add_all("arguments", verdict.choice.arguments);
  out.add("size", segment.size).add("verified", verdict.verified).add("policy", name_of(verdict.choice.source));
  if (policy) {
    out.add("tag", policy->tag).add("dtype", name_of(policy->type)).add("error_kind", name_of(policy->kind));
    out.add("norm", name_of(policy->norm)).add("error", verdict.error).add("threshold", policy->threshold);
    if (policy->scale) out.add("scale", *policy->scale);
  }
  if (verdict.difference) {
    const bundle::SegmentDifference& difference = *verdict.difference;
    if (policy && difference.observation) write_worst(out, *policy, *difference.observation);
    if (difference.observation) write_errors(out, *difference.observation);
    out.add("bytes", difference.bytes).add("offset", difference.first).add("expected", difference.expected);
    out.add("actual", difference.actual);
    if (difference.steady) out.add("steady", *difference.steady);
    if (difference.steady && !verdict.verified) out.add("varies", verdict.varies);
  }
  out.close();
}

void write_baseline(bundle::json::Text& out, const bundle::Baseline& baseline) {
  out.open("baseline").add("executions", baseline.executions).add("reason", baseline.reason);
  out.add("varying_segments", uint64_t{baseline.spread.size()}).add("unlike_bytes", baseline.unlike).close();
}

// The two characters that no xml may have, of those that are left.
std::string without_noncharacters(std::string text) {
  for (const char* noncharacter : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {
    for (size_t at = 0; (at = text.find(noncharacter, at)) != std::string::npos;) text.replace(at, 3, "?");
  }
  return text;
}

std::string xml_text(const std::string& text) {
  std::string out;
  for (char c : without_noncharacters(printable(text))) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

void write_comparison(bundle::json::Text& out, const TimeComparison& comparison) {
  const Speedup& speedup = comparison.speedup;
  out.open("comparison").add("reference", comparison.reference).add("outcome", comparison.outcome);
  out.add("speedup", speedup.factor);
  if (comparison.bound > 0) out.add("bound", comparison.bound);
  if (speedup.is_told()) out.add("low", speedup.low).add("high", speedup.high).add("confidence", 0.95);
  out.close();
}

// Of code that an assembler made for an NVIDIA GPU.
void write_assembled(bundle::json::Text& out, const Row& row) {
  const bundle::Configuration& configuration = row.configuration;
  if (configuration.assembler.empty()) return;
  out.add("assembler", configuration.assembler).add("ptxas_level", configuration.ptxas_level);
  if (configuration.max_registers) out.add("max_registers", configuration.max_registers);
}

void write_resources(bundle::json::Text& out, const Row& row) {
  if (!row.resources) return;
  const bundle::Resources& resources = *row.resources;
  out.add("registers", resources.registers).add("stack_bytes", resources.stack);
  out.add("spill_store_bytes", resources.spill_stores).add("spill_load_bytes", resources.spill_loads);
  out.add("shared_bytes", resources.shared);
  if (row.occupancy) out.add("occupancy", *row.occupancy);
}

}  // namespace

std::string short_hash(const Digest& digest) { return digest.hex().substr(0, 12); }

std::string printable(std::string text) {
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }, '?');
  return text;
}

std::string too_slow_text(const TimeComparison& comparison) {
  const Speedup& speedup = comparison.speedup;
  return fmt::format("it takes {:.3f} times ({:.3f} to {:.3f}) as long as variant {}, more than the {:g} that it may",
                     1 / speedup.factor, 1 / speedup.high, 1 / speedup.low, short_hash(comparison.reference),
                     comparison.bound);
}

bool lets_anything_pass(const SegmentVerdict& segment) {
  return segment.choice.policy && std::isinf(segment.choice.policy->threshold);
}

uint64_t fastest(const std::vector<uint64_t>& nanoseconds) {
  return nanoseconds.empty() ? 0 : *std::min_element(nanoseconds.begin(), nanoseconds.end());
}

std::string json_line(const Row& row, const std::vector<bundle::Segment>& segments) {
  bundle::json::Text out;
  out.open().add("kernel", row.kernel).add("name", row.name).add("instance", row.instance);
  out.add("variant", row.variant).add("passes", row.configuration.passes);
  out.add("codegen_opt", row.configuration.codegen_opt).add("target", row.configuration.target).add("form", row.form);
  out.open("configuration");
  bundle::write_configuration(out, row.configuration);
  out.close();
  write_assembled(out, row);
  write_resources(out, row);
  out.add("status", to_string(row.verdict.status)).add("verified", row.passed);
  out.add_all("reasons", row.verdict.reasons);
  if (!row.algebra.empty()) out.add("algebra", row.algebra);
  if (row.run) {
    const bundle::RunInfo& run = *row.run;
    out.add("device", run.device).add("clock", run.clock).add("iterations", uint64_t{run.nanoseconds.size()});
    if (!run.same_as.empty()) out.add("same_as", run.same_as);
    if (run.rounds > 1) out.add("rounds", run.rounds);
    out.add("cache", run.cold ? "cold" : "warm");
    out.add("min_ns", fastest(run.nanoseconds)).add("median_ns", median(run.nanoseconds));
    out.add("outliers", count_outliers(run.nanoseconds));
    if (row.comparison) write_comparison(out, *row.comparison);
    out.add("changed_bytes", run.changed_bytes).add("compared_bytes", run.compared_bytes);
    if (run.stray_bytes > 0) out.add("stray_bytes", run.stray_bytes);
    if (!run.findings.empty()) bundle::write_findings(out, run.findings);
    out.add("launch_changed_memory", row.launch_changed_memory);
    if (run.baseline) write_baseline(out, *run.baseline);
    out.open_array("segments");
    for (const SegmentVerdict& segment : row.verdict.segments) write_segment(out, segment, segments[segment.segment]);
    out.close_array();
  }
  return out.close().text() + "\n";
}

std::string junit(const std::vector<Row>& rows) {
  size_t failures = 0, errors = 0;
  std::string cases;
  const std::vector<std::string> settings = distinguishing_settings(rows);
  for (const Row& row : rows) {
    const std::string& set = settings[static_cast<size_t>(&row - rows.data())];
    uint64_t time = row.run ? fastest(row.run->nanoseconds) : 0;
    cases += fmt::format("  <testcase classname=\"{}\" name=\"instance {} variant {} {}{}\" time=\"{:.9f}\"",
                         xml_text(row.name), short_hash(row.instance), short_hash(row.variant),
                         xml_text(row.configuration.passes), set.empty() ? "" : " " + xml_text(set),
                         static_cast<double>(time) / 1e9);
    if (row.passed && row.comparison && row.comparison->outcome == kTooSlow) {
      failures++;
      cases += fmt::format(">\n    <failure message=\"too slow: {}\"/>\n  </testcase>\n",
                           xml_text(too_slow_text(*row.comparison)));
      continue;
    }
    if (row.verdict.status == Status::kVerified) {
      cases += "/>\n";
      continue;
    }
    std::string reasons = xml_text(fmt::format("{}", fmt::join(row.verdict.reasons, "; ")));
    if (row.passed) {
      cases += fmt::format(">\n    <system-out>{}: {}</system-out>\n  </testcase>\n", to_string(row.verdict.status),
                           reasons);
      continue;
    }
    bool failed = row.verdict.status == Status::kFailed;
    (failed ? errors : failures)++;
    const char* element = failed ? "error" : "failure";
    if (row.verdict.status == Status::kVaries) reasons.insert(0, "varies: ");
    cases += fmt::format(">\n    <{} message=\"{}\"/>\n  </testcase>\n", element, reasons);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"mneme-verify\" tests=\"{}\" failures=\"{}\" errors=\"{}\">\n{}</testsuite>\n",
      rows.size(), failures, errors, cases);
}

}  // namespace mneme::verify
