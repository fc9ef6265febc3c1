// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/checks/synchronisation.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "device/host/checks/findings.h"
#include "device/host/checks/places.h"
#include "device/host/services/diverged.h"
#include "device/host/services/services.h"

namespace mneme::device::host {
namespace {

using codegen::host::BlockContext;
using codegen::host::Site;
using codegen::host::TrackedSync;

// " (reduce.hip:12)"
std::string place_of(const Site& site) { return *site.place ? fmt::format(" ({})", site.place) : ""; }

uint32_t threads_in(const BlockContext& context) { return context.block[0] * context.block[1] * context.block[2]; }

}  // namespace

void Synchronisation::begin(const BlockContext& context) { blocks_[&context].assign(threads_in(context), {}); }

Synchronisation::Items& Synchronisation::items_of(const BlockContext& context) {
  Items& items = blocks_[&context];
  if (items.size() < threads_in(context)) items.resize(threads_in(context));
  return items;
}

void Synchronisation::access(const BlockContext& context, uint32_t thread, uint64_t address, const Site& site) {
  if ((site.flags & codegen::host::kTrackedAccess) == codegen::host::kReads) return;
  if (address - reinterpret_cast<uint64_t>(context.shared) >= shared_size(context)) return;
  items_of(context)[thread].written = &site;
}

void Synchronisation::synchronise(const BlockContext& context, uint32_t thread, TrackedSync kind, const Site& site) {
  Item& item = items_of(context)[thread];
  switch (kind) {
    case codegen::host::kTrackedArrival:
      item.barrier = &site;
      break;
    case codegen::host::kTrackedEnd:
      item.ended = true;
      break;
    case codegen::host::kTrackedBareBarrier:
      if (item.written) {
        report(context, "fence",
               fmt::format("{}: comes to a barrier{} with no fence for what it writes to shared memory{}",
                           text_of(context, {number_of_block(context), thread}), at(site), at(*item.written)),
               site, item.written);
      }
      break;
    case codegen::host::kTrackedWave:
      break;
    default:
      item.written = nullptr;
  }
}

void Synchronisation::mask(const BlockContext& context, uint32_t thread, uint64_t mask, uint64_t here,
                           const Site& site) {
  const uint32_t lane = thread % wave_size_, first = thread - lane;
  const Items& items = items_of(context);
  auto who = [&] { return text_of(context, {number_of_block(context), thread}); };
  if (!(mask >> lane & 1)) {
    return report(context, "mask",
                  fmt::format("{}: is lane {}, which the mask {:#x} of the collective{} does not have", who(), lane,
                              mask, at(site)),
                  site);
  }
  uint64_t missing = mask & ~here;
  for (uint32_t other = 0; other < wave_size_; ++other) {
    if (first + other >= items.size() || items[first + other].ended) missing &= ~(uint64_t{1} << other);
  }
  if (!missing) return;
  report(context, "mask",
         fmt::format("{}: the mask {:#x} of the collective{} has lane {}, which does not come to it", who(), mask,
                     at(site), std::countr_zero(missing)),
         site);
}

void Synchronisation::missed(const BlockContext& context, std::span<const uint32_t> points) {
  const Items& items = items_of(context);
  const Site *first = nullptr, *other = nullptr;
  bool lesser = true;
  for (size_t i = 0; i < points.size() && i < items.size(); ++i) {
    if (points[i] == codegen::host::kEndedPoint || !items[i].barrier) continue;
    if (!first) first = items[i].barrier;
    if (first != items[i].barrier) other = items[i].barrier;
    lesser = lesser && items[i].barrier->flags & codegen::host::kMissedAtEnd;
  }
  if (!first) return;
  const auto& [x, y, z] = context.group;
  report(context, "barrier",
         fmt::format("block ({}, {}, {}): {}{}{}", x, y, z, describe_diverged(context.block, points), place_of(*first),
                     other ? place_of(*other) : ""),
         *first, other, lesser && !other);
}

void Synchronisation::report(const BlockContext& context, const char* kind, std::string what, const Site& site,
                             const Site* other, bool lesser) {
  options_.findings->note({"sync", kind, &site, other, lesser}, [&](bundle::Finding& finding) {
    finding.sentence = fmt::format("kernel '{}', {}", static_cast<const ServiceState*>(context.launch)->kernel, what);
    finding.line = site.place;
    if (other) finding.other = other->place;
  });
}

}  // namespace mneme::device::host
