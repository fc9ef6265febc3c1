// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/checks/history.h"

namespace mneme::device::host {

History::History() { clear(); }

void History::clear() {
  records_.assign(1, {});
  table_.assign(1 << 12, 0);
}

uint64_t History::hash(const Record& record) {
  uint64_t hash = reinterpret_cast<uint64_t>(record.site);
  auto mix = [&](uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 29;
  };
  mix(record.block | uint64_t{record.grid_epoch} << 32);
  mix(record.epoch | uint64_t{record.count} << 32);
  mix(record.second_count | uint64_t{record.second} << 32 | uint64_t{record.kind} << 48);
  mix(static_cast<uint64_t>(record.first) | static_cast<uint64_t>(record.rest) << 32);
  return hash;
}

Tag History::tag(const Record& record, uint32_t thread) {
  const size_t mask = table_.size() - 1;
  size_t at = hash(record) & mask;
  while (table_[at] != 0 && !(records_[table_[at]] == record)) at = (at + 1) & mask;
  if (table_[at] == 0) {
    table_[at] = static_cast<uint32_t>(records_.size());
    records_.push_back(record);
    const uint32_t number = table_[at];
    if (records_.size() * 2 > table_.size()) grow();
    return static_cast<Tag>(number << kThreadBits | thread);
  }
  return static_cast<Tag>(table_[at] << kThreadBits | thread);
}

void History::grow() {
  table_.assign(table_.size() * 2, 0);
  const size_t mask = table_.size() - 1;
  for (uint32_t i = 1; i < records_.size(); ++i) {
    size_t at = hash(records_[i]) & mask;
    while (table_[at] != 0) at = (at + 1) & mask;
    table_[at] = i;
  }
}

}  // namespace mneme::device::host
