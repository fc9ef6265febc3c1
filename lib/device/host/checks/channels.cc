// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/checks/channels.h"

#include <algorithm>

namespace mneme::device::host {

KnowledgePointer joined(const KnowledgePointer& one, const KnowledgePointer& other) {
  if (!other || one == other) return one;
  if (!one) return other;
  auto has_all = [](const Knowledge& all, const Knowledge& some) {
    return std::ranges::all_of(some, [&](const auto& entry) {
      auto found = all.find(entry.first);
      return found != all.end() && found->second >= entry.second;
    });
  };
  if (has_all(*one, *other)) return one;
  if (has_all(*other, *one)) return other;
  auto both = std::make_shared<Knowledge>(*one);
  for (const auto& [channel, count] : *other) {
    size_t& known = (*both)[channel];
    known = std::max(known, count);
  }
  return both;
}

bool Release::has(const Moment& moment) const {
  if (moment.epoch < epoch || (all && moment.count <= all)) return true;
  auto found = std::ranges::lower_bound(items, moment.thread, {}, &std::pair<uint32_t, uint32_t>::first);
  return found != items.end() && found->first == moment.thread && moment.count <= found->second;
}

void Release::add(uint32_t thread, uint32_t count) {
  auto found = std::ranges::lower_bound(items, thread, {}, &std::pair<uint32_t, uint32_t>::first);
  if (found != items.end() && found->first == thread) {
    found->second = std::max(found->second, count);
  } else {
    items.emplace(found, thread, count);
  }
}

void Channel::put(const ReleasePointer& release) {
  std::vector<size_t>& same = of_block_[release->block];
  // A work-item that waits puts the same again and again.
  const size_t last = same.size() < 4 ? 0 : same.size() - 4;
  for (size_t i = last; i < same.size(); ++i) {
    if (releases_[same[i]] == release) return;
  }
  same.push_back(releases_.size());
  if (release->known) known_.emplace_back(releases_.size(), release->known);
  releases_.push_back(release);
}

bool Channel::has(size_t count, const Moment& moment, uint32_t reader) const {
  auto found = of_block_.find(moment.block);
  if (found == of_block_.end()) return false;
  return std::ranges::any_of(found->second, [&](size_t number) {
    const Release& release = *releases_[number];
    return number < count && (!release.for_block || release.block == reader) && release.has(moment);
  });
}

bool has(const Knowledge& knowledge, const Moment& moment, uint32_t reader) {
  Knowledge seen;
  std::vector<std::pair<const Channel*, size_t>> open(knowledge.begin(), knowledge.end());
  for (const auto& [channel, count] : open) {
    if (channel->has(count, moment, reader)) return true;
  }
  while (!open.empty()) {
    const auto [channel, count] = open.back();
    open.pop_back();
    size_t& before = seen[channel];
    if (before >= count) continue;
    if (channel->has(count, moment, reader)) return true;
    for (const auto& [number, known] : channel->known()) {
      if (number < before) continue;
      if (number >= count) break;
      for (const auto& entry : *known) {
        auto met = seen.find(entry.first);
        if (met == seen.end() || met->second < entry.second) open.push_back(entry);
      }
    }
    before = count;
  }
  return false;
}

}  // namespace mneme::device::host
