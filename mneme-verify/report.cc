// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bundle/json.h"

namespace mneme::verify {
namespace {

std::string short_hash(const Digest& digest) { return digest.hex().substr(0, 12); }

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

std::string time_text(uint64_t nanoseconds) {
  double value = static_cast<double>(nanoseconds);
  if (nanoseconds < 10'000) return fmt::format("{} ns", nanoseconds);
  if (nanoseconds < 10'000'000) return fmt::format("{:.1f} us", value / 1e3);
  if (nanoseconds < 10'000'000'000) return fmt::format("{:.1f} ms", value / 1e6);
  return fmt::format("{:.1f} s", value / 1e9);
}

// Characters, not bytes, of UTF-8.
size_t width(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// Names come from strangers: nothing in them may steer a terminal.
std::string printable(std::string text) {
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }, '?');
  return text;
}

std::string xml_text(const std::string& text) {
  std::string out;
  for (char c : printable(text)) {
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

}  // namespace

uint64_t fastest(const std::vector<uint64_t>& nanoseconds) {
  return nanoseconds.empty() ? 0 : *std::min_element(nanoseconds.begin(), nanoseconds.end());
}

uint64_t median(std::vector<uint64_t> nanoseconds) {
  if (nanoseconds.empty()) return 0;
  std::sort(nanoseconds.begin(), nanoseconds.end());
  size_t middle = nanoseconds.size() / 2;
  if (nanoseconds.size() % 2) return nanoseconds[middle];
  uint64_t low = nanoseconds[middle - 1], high = nanoseconds[middle];
  return low + (high - low) / 2;
}

std::string json_line(const Row& row, const std::vector<bundle::Segment>& segments) {
  bundle::json::Text out;
  out.open().add("kernel", row.kernel).add("name", row.name).add("instance", row.instance);
  out.add("variant", row.variant).add("passes", row.configuration.passes);
  out.add("codegen_opt", row.configuration.codegen_opt).add("target", row.configuration.target).add("form", row.form);
  out.add("status", to_string(row.verdict.status)).add_all("reasons", row.verdict.reasons);
  if (row.run) {
    const bundle::RunInfo& run = *row.run;
    out.add("device", run.device).add("clock", run.clock).add("iterations", uint64_t{run.nanoseconds.size()});
    out.add("min_ns", fastest(run.nanoseconds)).add("median_ns", median(run.nanoseconds));
    out.add("changed_bytes", run.changed_bytes).add("compared_bytes", run.compared_bytes);
    out.open_array("differences");
    for (const bundle::SegmentDifference& difference : run.differences) {
      auto segment = std::find_if(segments.begin(), segments.end(),
                                  [&](const bundle::Segment& s) { return s.address == difference.address; });
      out.open().add_address("address", difference.address);
      if (segment != segments.end()) {
        out.add("symbol", segment->symbol).add("kind", kind_of(*segment)).add("size", segment->size);
      }
      out.add("bytes", difference.bytes).add("offset", difference.first).add("expected", difference.expected);
      out.add("actual", difference.actual).close();
    }
    out.close_array();
  }
  return out.close().text() + "\n";
}

std::string table(const std::vector<Row>& rows) {
  constexpr size_t kColumns = 7;
  using Line = std::array<std::string, kColumns>;
  std::vector<Line> lines{{"KERNEL", "INSTANCE", "VARIANT", "PASSES", "MIN", "MEDIAN", "STATUS"}};
  size_t verified = 0;
  for (const Row& row : rows) {
    bool timed = row.run && !row.run->nanoseconds.empty();
    verified += row.verdict.status == Status::kVerified;
    lines.push_back({printable(row.name), short_hash(row.instance), short_hash(row.variant),
                     printable(row.configuration.passes), timed ? time_text(fastest(row.run->nanoseconds)) : "-",
                     timed ? time_text(median(row.run->nanoseconds)) : "-", to_string(row.verdict.status)});
  }
  std::array<size_t, kColumns> widths{};
  for (const Line& line : lines) {
    for (size_t c = 0; c < kColumns; c++) widths[c] = std::max(widths[c], width(line[c]));
  }
  std::string out;
  for (const Line& line : lines) {
    for (size_t c = 0; c < kColumns; c++) {
      std::string space(widths[c] - width(line[c]), ' ');
      bool number = c == 4 || c == 5;
      out += number ? space + line[c] : line[c];
      if (c + 1 == kColumns) break;
      if (!number) out += space;
      out += "  ";
    }
    out += "\n";
  }
  return out + fmt::format("{} of {} runs verified\n", verified, rows.size());
}

std::string junit(const std::vector<Row>& rows) {
  size_t failures = 0, errors = 0;
  std::string cases;
  for (const Row& row : rows) {
    uint64_t time = row.run ? fastest(row.run->nanoseconds) : 0;
    cases += fmt::format("  <testcase classname=\"{}\" name=\"instance {} variant {} {}\" time=\"{:.9f}\"",
                         xml_text(row.name), short_hash(row.instance), short_hash(row.variant),
                         xml_text(row.configuration.passes), static_cast<double>(time) / 1e9);
    if (row.verdict.status == Status::kVerified) {
      cases += "/>\n";
      continue;
    }
    bool failed = row.verdict.status == Status::kFailed;
    (failed ? errors : failures)++;
    const char* element = failed ? "error" : "failure";
    std::string reasons = xml_text(fmt::format("{}", fmt::join(row.verdict.reasons, "; ")));
    cases += fmt::format(">\n    <{} message=\"{}\"/>\n  </testcase>\n", element, reasons);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"mneme-verify\" tests=\"{}\" failures=\"{}\" errors=\"{}\">\n{}</testsuite>\n",
      rows.size(), failures, errors, cases);
}

}  // namespace mneme::verify
