// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/core/settled.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace mneme::record {
namespace {

template <class Word>
Word word_at(const void* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof word);  // no call
  return word;
}

// Most values are words, for which a call takes longest.
bool same(const void* a, const void* b, uint32_t size) {
  if (size == sizeof(uint32_t)) return word_at<uint32_t>(a) == word_at<uint32_t>(b);
  if (size == sizeof(uint64_t)) return word_at<uint64_t>(a) == word_at<uint64_t>(b);
  return std::memcmp(a, b, size) == 0;
}

uint64_t first_word(const void* bytes, uint32_t size) {
  if (size == sizeof(uint32_t)) return word_at<uint32_t>(bytes);
  if (size >= sizeof(uint64_t)) return word_at<uint64_t>(bytes);
  uint64_t word = 0;
  std::memcpy(&word, bytes, size);
  return word;
}

}  // namespace

bool SettledLaunch::is_like(const LaunchRequest& request, int on) const {
  if (device != on) return false;
  if (all) return true;
  // Values first, and of them the last: they differ more often than dimensions do.
  void* const* list = request.arguments.list;
  if (!list && !values.empty()) return false;
  const char* expected = bytes.data() + bytes.size();
  for (auto value = values.rbegin(); value != values.rend(); ++value) {
    const void* given = list[value->argument];
    expected -= value->size;
    if (!given || !same(given, expected, value->size)) return false;
  }
  return grid == request.grid && block == request.block && cluster == request.cluster &&
         shared_bytes == request.shared_bytes;
}

bool SettledLaunch::may_be_like_one_before(const LaunchRequest& request) const {
  if (last_words.empty()) return !before.empty();
  void* const* list = request.arguments.list;
  if (!list || !list[last.argument]) return true;
  return std::ranges::find(last_words, first_word(list[last.argument], last.size)) != last_words.end();
}

const SettledLaunch::Slots* SettledLaunch::slots_of(const LaunchRequest& request, int on) const {
  if (may_be_like_one_before(request)) {
    for (const auto& one : before) {
      if (one->is_like(request, on)) return &one->slots;
    }
  }
  return is_like(request, on) ? &slots : nullptr;
}

std::shared_ptr<SettledLaunch> settled_launch(const LaunchRequest& request, int device,
                                              const bundle::KernelInfo& kernel, bool only_config,
                                              SettledLaunch::Slots slots) {
  if (!request.arguments.list && !kernel.arguments.empty()) return nullptr;  // packed ones are rare
  auto launch = std::make_shared<SettledLaunch>();
  launch->function = request.function;
  launch->device = device;
  launch->grid = request.grid;
  launch->block = request.block;
  launch->cluster = request.cluster;
  launch->shared_bytes = request.shared_bytes;
  launch->slots = slots;
  for (uint32_t i = 0; i < kernel.arguments.size() && !only_config; ++i) {
    const bundle::Argument& argument = kernel.arguments[i];
    if (argument.kind == "pointer") continue;
    launch->values.push_back({i, argument.size});
    launch->bytes.append(static_cast<const char*>(request.arguments.list[i]), argument.size);
  }
  return launch;
}

void Settled::publish(std::shared_ptr<const Entry> entry) {
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

void Settled::remember_all(const void* function, int device, Slots slots,
                           std::vector<std::shared_ptr<const SettledLaunch>> before) {
  auto entry = std::make_shared<Entry>();
  entry->function = function;
  entry->device = device;
  entry->all = true;
  entry->slots = slots;
  // All of them are of one kernel.
  if (!before.empty() && !before.front()->values.empty()) {
    entry->last = before.front()->values.back();
    for (const auto& one : before) {
      entry->last_words.push_back(first_word(&one->bytes[one->bytes.size() - entry->last.size], entry->last.size));
    }
  }
  entry->before = std::move(before);
  publish(std::move(entry));
}

void Settled::remember_alike(const LaunchRequest& request, int device, const bundle::KernelInfo& kernel,
                             bool only_config, Slots slots) {
  if (auto launch = settled_launch(request, device, kernel, only_config, slots)) publish(std::move(launch));
}

void Settled::forget() {
  for (auto& place : places_) place.store(nullptr, std::memory_order_release);
}

}  // namespace mneme::record
