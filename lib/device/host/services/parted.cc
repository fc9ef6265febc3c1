// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/services/parted.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "device/host/services/services.h"

namespace mneme::device::host {
namespace {

// "thread (3, 0, 0) and 15 others"
std::string name_threads(const uint32_t (&block)[3], std::span<const uint32_t> places, uint32_t place) {
  auto first = static_cast<uint32_t>(std::ranges::find(places, place) - places.begin());
  auto others = std::ranges::count(places, place) - 1;
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

std::string describe_parted(const uint32_t (&block)[3], std::span<const uint32_t> places) {
  auto ended = static_cast<uint64_t>(std::ranges::count(places, codegen::host::kEndedPlace));
  bool alone = places.size() - ended == 1;
  // Where most wait, and where others do.
  uint32_t most = codegen::host::kEndedPlace, less = most;
  std::ptrdiff_t most_count = 0;
  for (uint32_t place : std::set<uint32_t>(places.begin(), places.end())) {
    if (place == codegen::host::kEndedPlace) continue;
    std::ptrdiff_t count = std::ranges::count(places, place);
    less = count > most_count ? most : place;
    if (count > most_count) most = place, most_count = count;
  }
  if (less != codegen::host::kEndedPlace) {
    return fmt::format("{} wait{} at another barrier than {}", name_threads(block, places, less),
                       std::ranges::count(places, less) == 1 ? "s" : "", name_threads(block, places, most));
  }
  return fmt::format("{} {} ended before a barrier that {} thread{} at",
                     name_threads(block, places, codegen::host::kEndedPlace), ended == 1 ? "has" : "have",
                     places.size() - ended, alone ? " waits" : "s wait");
}

void parted(codegen::host::BlockContext* context, uint32_t, const uint32_t* places, uint32_t count) {
  auto& state = *static_cast<ServiceState*>(context->launch);
  if (!state.options.warn || state.told_that_parted.exchange(true, std::memory_order_relaxed)) return;
  if (!is_news(state.kernel)) return;
  const uint32_t(&group)[3] = context->group;
  std::string text = fmt::format("kernel '{}', block ({}, {}, {}): {}", state.kernel, group[0], group[1], group[2],
                                 describe_parted(context->block, {places, count}));
  std::lock_guard lock(state.output);
  state.options.warn(text);
}

}  // namespace mneme::device::host
