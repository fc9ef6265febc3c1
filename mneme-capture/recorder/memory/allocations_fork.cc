// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recorded memory in the child of a fork: its own, and shared with mneme-capture again if the child is recorded.
#include <sys/mman.h>

#include <algorithm>

#include "recorder/memory/allocations.h"

#include "memory/own_region.h"
#include "recorder/memory/address.h"

namespace mneme::record {
namespace {

constexpr uint64_t kMostAtOnce = 64 << 20;  // bytes that are shared as one file
constexpr uint64_t kLeastAtOnce = 2 << 20;

}  // namespace

void Allocations::before_fork() { mutex_.lock(); }
void Allocations::after_fork_in_parent() { mutex_.unlock(); }

void Allocations::after_fork_in_child() {
  for (const Shared& piece : shared_) {
    memory::make_private(pointer_to(piece.address), piece.size, PROT_READ | PROT_WRITE, piece.memory.get());
  }
  shared_.clear();
  watch_.forget();
  held_ = false;  // a launch of another thread's: the parent's
  for (uint64_t address : released_) forget(address);
  released_.clear();
  std::erase_if(registered_, [](const auto& entry) { return entry.second.gone; });
  mutex_.unlock();
}

void Allocations::share(const Area& area, uint64_t address, uint64_t size) {
  Fd memory = zeroed_memory_file("mneme-child", size);
  void* copy = memory::map_own(size, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get());
  if (copy == MAP_FAILED) throw system_error("cannot share the memory of a process that was forked");
  // What was freed is nobody's business.
  const auto& all = area.arena.allocations();
  auto allocation = all.upper_bound(address);
  if (allocation != all.begin()) --allocation;
  for (; allocation != all.end() && allocation->first < address + size; ++allocation) {
    auto [start, length] = *allocation;
    uint64_t begin = std::max(start, address), end = std::min(start + length, address + size);
    if (begin >= end) continue;
    memory::copy_sparse(static_cast<std::byte*>(copy) + (begin - address), pointer_to(begin), end - begin);
  }
  if (::mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, pointer_to(address)) == MAP_FAILED) {
    ::munmap(copy, size);
    throw system_error("cannot share the memory of a process that was forked");
  }
  listener_.appeared(Chunk{address, size}, memory.get());
  shared_.push_back({address, size, KeptDescriptor(std::move(memory))});
  watch_.add({address, size});
}

std::vector<MemoryRange> Allocations::share_again() {
  std::lock_guard lock(mutex_);
  bool used = std::ranges::any_of(
      areas_, [](const Area& area) { return area.space == Space::kDevice && area.backed > area.arena.base(); });
  if (used && !runtime_.survives_fork()) {
    throw Error("the process that forked it had used the GPU, which cannot be used in both");
  }
  const uint64_t most = std::min(kMostAtOnce, largest_file() / kLeastAtOnce * kLeastAtOnce);
  for (const Area& area : areas_) {
    if (most == 0 && area.backed > area.arena.base()) throw Error("the process may make no files (ulimit -f)");
    for (uint64_t at = area.arena.base(); at < area.backed; at += most) {
      share(area, at, std::min(most, area.backed - at));
    }
  }
  std::vector<MemoryRange> mapped;
  for (auto memory = registered_.begin(); memory != registered_.end();) {
    auto& [address, details] = *memory;
    if (details.mapped) {
      mapped.push_back({address, details.size});
      memory = registered_.erase(memory);
    } else {
      details.copy.reset();
      details.read = false;
      if (auto copy = show(address, details.size)) details.copy.emplace(std::move(*copy));
      ++memory;
    }
  }
  return mapped;
}

}  // namespace mneme::record
