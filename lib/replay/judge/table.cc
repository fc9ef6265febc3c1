// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/long_names.h"
#include "replay/judge/report.h"

namespace mneme::verify {
namespace {

constexpr size_t kMostReasons = 3;  // below a row
using Line = std::vector<std::string>;

std::string time_text(uint64_t nanoseconds) {
  double value = static_cast<double>(nanoseconds);
  if (nanoseconds < 10'000) return fmt::format("{} ns", nanoseconds);
  if (nanoseconds < 10'000'000) return fmt::format("{:.1f} us", value / 1e3);
  if (nanoseconds < 10'000'000'000) return fmt::format("{:.1f} ms", value / 1e6);
  return fmt::format("{:.1f} s", value / 1e9);
}

// "1.25 (1.21 to 1.28) faster"
std::string comparison_text(const TimeComparison& comparison) {
  const Speedup& speedup = comparison.speedup;
  if (comparison.outcome == "reference" || comparison.outcome == "same code") return comparison.outcome;
  std::string interval = speedup.is_told() ? fmt::format(" ({:.3f} to {:.3f})", speedup.low, speedup.high) : "";
  return fmt::format("{:.3f}{} {}", speedup.factor, interval, comparison.outcome);
}

Line line_of(const Row& row, const std::string* settings, bool compared) {
  bool timed = row.run && !row.run->nanoseconds.empty();
  std::string variant = short_hash(row.variant);
  if (row.run && !row.run->same_as.empty()) variant += " = " + short_hash(row.run->same_as);
  Line line{cut_in_the_middle(printable(row.name)), short_hash(row.instance), variant,
            cut_in_the_middle(printable(row.configuration.passes))};
  if (settings) line.push_back(settings->empty() ? "-" : *settings);
  line.push_back(timed ? time_text(fastest(row.run->nanoseconds)) + (row.run->cold ? " cold" : "") : "-");
  line.push_back(timed ? time_text(median(row.run->nanoseconds)) : "-");
  if (compared) line.push_back(row.comparison ? comparison_text(*row.comparison) : "-");
  line.emplace_back(row.algebra.empty() ? to_string(row.verdict.status) : row.algebra);
  return line;
}

std::string aligned(const std::vector<Line>& lines, const std::vector<std::string>& below) {
  const size_t columns = lines[0].size();
  std::vector<size_t> widths(columns);
  for (const Line& line : lines) {
    for (size_t c = 0; c < columns; c++) widths[c] = std::max(widths[c], width_of(line[c]));
  }
  std::string out;
  for (size_t i = 0; i < lines.size(); i++) {
    for (size_t c = 0; c < columns; c++) {
      std::string space(widths[c] - width_of(lines[i][c]), ' ');
      bool number = lines[0][c] == "MIN" || lines[0][c] == "MEDIAN";
      out += number ? space + lines[i][c] : lines[i][c];
      if (c + 1 == columns) break;
      if (!number) out += space;
      out += "  ";
    }
    out += "\n" + below[i];
  }
  return out;
}

// The worst comes first: failed runs, those that are not verified, those that vary; then as they came.
std::vector<const Row*> worst_first(const std::vector<Row>& rows) {
  std::vector<const Row*> order;
  for (const Row& row : rows) order.push_back(&row);
  std::ranges::sort(order, [](const Row* a, const Row* b) {
    return std::tie(b->verdict.status, a) < std::tie(a->verdict.status, b);
  });
  return order;
}

// How many segments were left out by a threshold.
std::string left_out_text(const std::vector<Row>& rows) {
  int64_t count = 0;
  for (const Row& row : rows) count += std::ranges::count_if(row.verdict.segments, lets_anything_pass);
  if (count == 0) return "";
  return fmt::format("; any result passes in {} segment{} (threshold inf)", count, count == 1 ? "" : "s");
}

// Which tolerances were inferred, and for how many segments.
std::string inferred(const std::vector<Row>& rows) {
  std::map<std::string, size_t> counts;
  for (const Row& row : rows) {
    for (const SegmentVerdict& segment : row.verdict.segments) {
      if (segment.choice.source == Source::kInferred) counts[to_string(*segment.choice.policy)]++;
    }
  }
  std::string out;
  for (const auto& [policy, count] : counts) {
    out +=
        fmt::format("{}{} of {} segment{}", out.empty() ? "; inferred: " : ", ", policy, count, count == 1 ? "" : "s");
  }
  return out;
}

}  // namespace

std::string table(const std::vector<Row>& rows, size_t most_lines) {
  auto count = [&](Status status) {
    return std::ranges::count(rows, status, [](const Row& row) { return row.verdict.status; });
  };
  const bool compared = std::ranges::any_of(rows, [](const Row& row) { return row.comparison.has_value(); });
  const std::vector<std::string> settings = distinguishing_settings(rows);
  const bool set = std::ranges::any_of(settings, [](const std::string& text) { return !text.empty(); });
  std::vector<Line> lines{{"KERNEL", "INSTANCE", "VARIANT", "PASSES"}};
  if (set) lines[0].emplace_back("SETTINGS");
  lines[0].emplace_back("MIN");
  lines[0].emplace_back("MEDIAN");
  if (compared) lines[0].emplace_back("SPEED-UP");
  lines[0].emplace_back("STATUS");
  std::vector<std::string> below{""};
  size_t used = 2;  // the heading and the last line
  size_t left_out = 0, left_out_bad = 0;
  for (const Row* row : worst_first(rows)) {
    const std::vector<std::string>& reasons = row->verdict.reasons;
    size_t told = std::min(reasons.size(), kMostReasons);
    size_t needed = 1 + told + (told < reasons.size());
    if (left_out || (used + needed > most_lines && lines.size() > 1)) {
      left_out++;
      left_out_bad += row->verdict.status != Status::kVerified;
      continue;
    }
    used += needed;
    std::string text;
    for (size_t i = 0; i < told; i++) text += "    " + printable(reasons[i]) + "\n";
    if (told < reasons.size()) text += fmt::format("    and {} more\n", reasons.size() - told);
    lines.push_back(line_of(*row, set ? &settings[static_cast<size_t>(row - rows.data())] : nullptr, compared));
    below.push_back(std::move(text));
  }
  std::string out = aligned(lines, below);
  if (left_out) out += fmt::format("and {} more, {} of them not verified; ", left_out, left_out_bad);
  out += fmt::format("{} of {} runs verified", count(Status::kVerified), rows.size());
  if (auto vary = count(Status::kVaries)) out += fmt::format(", {} differing as much as by themselves", vary);
  return out + inferred(rows) + left_out_text(rows) + "\n";
}

}  // namespace mneme::verify
