// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/services/diverged.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "device/host/services/services.h"

namespace mneme::device::host {
namespace {

// "thread (3, 0, 0) and 15 others"
std::string name_threads(const uint32_t (&block)[3], std::span<const uint32_t> points, uint32_t point) {
  auto first = static_cast<uint32_t>(std::ranges::find(points, point) - points.begin());
  auto others = std::ranges::count(points, point) - 1;
  std::string text =
      fmt::format("thread ({}, {}, {})", first % block[0], first / block[0] % block[1], first / block[0] / block[1]);
  return others ? text + fmt::format(" and {} other{}", others, others == 1 ? "" : "s") : text;
}

// True for the first who asks about a kernel.
bool is_news(const std::string& kernel) {
  static std::mutex mutex;
  static std::set<std::string> told;
  std::lock_guard lock(mutex);
  return told.insert(kernel).second;
}

}  // namespace

std::string describe_diverged(const uint32_t (&block)[3], std::span<const uint32_t> points) {
  auto ended = static_cast<uint64_t>(std::ranges::count(points, codegen::host::kEndedPoint));
  bool alone = points.size() - ended == 1;
  // Where most wait, and where others do.
  uint32_t most = codegen::host::kEndedPoint, less = most;
  std::ptrdiff_t most_count = 0;
  for (uint32_t point : std::set<uint32_t>(points.begin(), points.end())) {
    if (point == codegen::host::kEndedPoint) continue;
    std::ptrdiff_t count = std::ranges::count(points, point);
    less = count > most_count ? most : point;
    if (count > most_count) most = point, most_count = count;
  }
  if (less != codegen::host::kEndedPoint) {
    return fmt::format("{} wait{} at another barrier than {}", name_threads(block, points, less),
                       std::ranges::count(points, less) == 1 ? "s" : "", name_threads(block, points, most));
  }
  return fmt::format("{} {} ended before a barrier that {} thread{} at",
                     name_threads(block, points, codegen::host::kEndedPoint), ended == 1 ? "has" : "have",
                     points.size() - ended, alone ? " waits" : "s wait");
}

void diverged(codegen::host::BlockContext* context, uint32_t, const uint32_t* points, uint32_t count) {
  auto& state = *static_cast<ServiceState*>(context->launch);
  if (state.checks && state.checks->missed_barrier(*context, {points, count})) return;
  if (!state.options.warn || state.told_that_diverged.exchange(true, std::memory_order_relaxed)) return;
  if (!is_news(state.kernel)) return;
  const uint32_t(&group)[3] = context->group;
  std::string text = fmt::format("kernel '{}', block ({}, {}, {}): {}", state.kernel, group[0], group[1], group[2],
                                 describe_diverged(context->block, {points, count}));
  std::lock_guard lock(state.output);
  state.options.warn(text);
}

}  // namespace mneme::device::host
