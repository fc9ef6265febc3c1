// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/memory/pool_use.h"

#include <algorithm>

namespace mneme::record {

void PoolUse::add(void* pool, uint64_t address, uint64_t size) {
  std::lock_guard lock(mutex_);
  pieces_[address] = {pool, size};
  Sums& sums = sums_[pool];
  sums.now += size;
  sums.most = std::max(sums.most, sums.now);
}

void PoolUse::remove(uint64_t address) {
  std::lock_guard lock(mutex_);
  auto piece = pieces_.find(address);
  if (piece == pieces_.end()) return;
  if (auto sums = sums_.find(piece->second.pool); sums != sums_.end()) sums->second.now -= piece->second.size;
  pieces_.erase(piece);
}

PoolUse::Sums PoolUse::of(void* pool) const {
  std::lock_guard lock(mutex_);
  auto found = sums_.find(pool);
  return found == sums_.end() ? Sums{} : found->second;
}

void PoolUse::forget_most(void* pool) {
  std::lock_guard lock(mutex_);
  if (auto found = sums_.find(pool); found != sums_.end()) found->second.most = found->second.now;
}

void PoolUse::destroyed(void* pool) {
  std::lock_guard lock(mutex_);
  sums_.erase(pool);
  devices_.erase(pool);
  std::erase_if(pieces_, [&](const auto& entry) { return entry.second.pool == pool; });
}

void PoolUse::set_device(void* pool, int device) {
  std::lock_guard lock(mutex_);
  devices_[pool] = device;
}

std::optional<int> PoolUse::device_of(void* pool) const {
  std::lock_guard lock(mutex_);
  auto found = devices_.find(pool);
  return found == devices_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace mneme::record
