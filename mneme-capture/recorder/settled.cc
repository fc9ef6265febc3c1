// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/settled.h"

#include <bit>
#include <cstring>

namespace mneme::record {

bool Settled::Entry::is_like(const LaunchRequest& request, int on) const {
  if (function != request.function || device != on) return false;
  if (all) return true;
  bool alike = grid == request.grid && block == request.block && cluster == request.cluster &&
               shared_bytes == request.shared_bytes;
  if (!alike) return false;
  void* const* list = request.arguments.list;
  if (!list && !values.empty()) return false;
  const char* expected = bytes.data();
  for (const Value& value : values) {
    const void* given = list[value.argument];
    if (!given || std::memcmp(given, expected, value.size) != 0) return false;
    expected += value.size;
  }
  return true;
}

void Settled::publish(std::unique_ptr<const Entry> entry) {
  // Of a function whose launches change all the time, fewer and fewer: entries are kept.
  constexpr uint32_t kOften = 64;
  uint32_t times = ++times_[entry->function];
  if (times > kOften && !std::has_single_bit(times)) return;
  const size_t first = first_place(entry->function);
  size_t chosen = first;
  for (size_t place = first; place < first + kWays; ++place) {
    const Entry* there = places_[place].load(std::memory_order_relaxed);
    if (there && there->function != entry->function) continue;
    chosen = place;
    break;
  }
  places_[chosen].store(entry.get(), std::memory_order_release);
  entries_.push_back(std::move(entry));
}

void Settled::remember_all(const void* function, int device, Slots slots) {
  auto entry = std::make_unique<Entry>();
  entry->function = function;
  entry->device = device;
  entry->all = true;
  entry->slots = slots;
  publish(std::move(entry));
}

void Settled::remember_alike(const LaunchRequest& request, int device, const bundle::KernelInfo& kernel,
                             bool only_config, Slots slots) {
  if (!request.arguments.list && !kernel.arguments.empty()) return;  // packed ones are rare
  auto entry = std::make_unique<Entry>();
  entry->function = request.function;
  entry->device = device;
  entry->grid = request.grid;
  entry->block = request.block;
  entry->cluster = request.cluster;
  entry->shared_bytes = request.shared_bytes;
  entry->slots = slots;
  for (uint32_t i = 0; i < kernel.arguments.size() && !only_config; ++i) {
    const bundle::Argument& argument = kernel.arguments[i];
    if (argument.kind == "pointer") continue;
    entry->values.push_back({i, argument.size});
    entry->bytes.append(static_cast<const char*>(request.arguments.list[i]), argument.size);
  }
  publish(std::move(entry));
}

void Settled::forget() {
  for (auto& place : places_) place.store(nullptr, std::memory_order_release);
}

}  // namespace mneme::record
