// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace mneme::capture {
namespace {

std::string counted(uint64_t number, const char* what, const char* many) {
  return fmt::format("{} {}", number, number == 1 ? what : many);
}

std::string launches(uint64_t number) { return counted(number, "launch", "launches"); }

std::string size(uint64_t bytes) {
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return counted(bytes, "byte", "bytes");
  double number = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; number >= 1024 && unit + 1 < kUnits.size(); ++unit) number /= 1024;
  return fmt::format("{:.1f} {}", number, kUnits[unit]);
}

// The launches of `count`'s kernel, of which `skipped` tells why some are not in the bundle.
std::string line_of(const bundle::KernelCount& count, const std::vector<bundle::Skipped>& skipped) {
  std::string why;
  uint64_t left = count.launches - std::min(count.launches, count.recorded);
  for (const bundle::Skipped& entry : skipped) {
    if (entry.kernel != count.kernel) continue;
    why += fmt::format(", {} not: {}", entry.launches, entry.reason);
    left -= std::min(left, entry.launches);
  }
  std::string line = fmt::format("{}: {}, {} recorded", count.kernel, launches(count.launches), count.recorded);
  if (left > 0) line += fmt::format(", {} like those", left);
  return line + why;
}

}  // namespace

std::vector<std::string> report(const bundle::Summary& summary) {
  const bundle::Totals totals = summary.totals.value_or(bundle::Totals{});
  uint64_t launched = 0, recorded = 0;
  for (const bundle::KernelCount& count : totals.kernels) {
    launched += count.launches;
    recorded += count.recorded;
  }
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{}, {}, {} recorded", counted(totals.kernels.size(), "kernel", "kernels"),
                              launches(launched), recorded));
  for (const bundle::KernelCount& count : totals.kernels) lines.push_back(line_of(count, summary.skipped));
  for (const bundle::Skipped& entry : summary.skipped) {
    if (std::ranges::find(totals.kernels, entry.kernel, &bundle::KernelCount::kernel) != totals.kernels.end()) continue;
    lines.push_back(fmt::format("{}: {} not recorded: {}", entry.kernel, launches(entry.launches), entry.reason));
  }
  lines.push_back(fmt::format("memory before and after the recorded launches: {}, stored in {}",
                              size(totals.seen_bytes), size(totals.stored_bytes)));
  return lines;
}

}  // namespace mneme::capture
