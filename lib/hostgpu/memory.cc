// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <map>
#include <mutex>

#include "hostgpu/errors.h"
#include "memory/arena.h"

namespace mneme::hostgpu {
namespace {

constexpr uint64_t kChunk = uint64_t{64} << 20;
constexpr uint64_t kSmallestRange = uint64_t{1} << 30;
// Memory of this size goes back to the system when it is freed.
constexpr uint64_t kLarge = uint64_t{1} << 20;
constexpr uint64_t kPage = 4096;
constexpr size_t kRemembered = 1000;  // blocks that were released

std::atomic<uint64_t> used{0};

// One range of addresses, backed with memory chunk by chunk as far as it was ever used.
class Range {
 public:
  explicit Range(uint64_t base) : base_(base) {}

  uint64_t allocate(uint64_t size, uint64_t align, MemoryKind kind, unsigned flags) {
    std::lock_guard lock(mutex_);
    reserve();
    auto address = arena_->allocate(size, align);
    if (!address) throw HipError(hipErrorOutOfMemory);
    if (!back(arena_->high_water())) {
      arena_->release(*address);
      throw HipError(hipErrorOutOfMemory);
    }
    details_[*address] = {kind, flags};
    return *address;
  }

  std::optional<uint64_t> release(uint64_t address) {
    std::lock_guard lock(mutex_);
    if (!arena_) return std::nullopt;
    auto found = arena_->find(address);
    if (!found || found->address != address) return std::nullopt;
    arena_->release(address);
    auto [kind, flags] = details_.at(address);
    released_.push_front({address, found->size, kind, flags});
    if (released_.size() > kRemembered) released_.pop_back();
    details_.erase(address);
    if (found->size >= kLarge) {
      uint64_t first = (address + kPage - 1) / kPage * kPage, last = (address + found->size) / kPage * kPage;
      ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
    }
    return found->size;
  }

  std::optional<Block> find(uint64_t address) {
    std::lock_guard lock(mutex_);
    if (!arena_) return std::nullopt;
    auto found = arena_->find(address);
    if (!found) return std::nullopt;
    auto [kind, flags] = details_.at(found->address);
    return Block{found->address, found->size, kind, flags};
  }

  void list(std::vector<Block>& live) {
    std::lock_guard lock(mutex_);
    if (!arena_) return;
    for (auto [address, size] : arena_->allocations()) {
      auto [kind, flags] = details_.at(address);
      live.push_back({address, size, kind, flags});
    }
  }

  void list_released(std::vector<Block>& released) {
    std::lock_guard lock(mutex_);
    released.insert(released.end(), released_.begin(), released_.end());
  }

  bool holds(uint64_t address) const { return address - base_ < memory::kDefaultRangeSize; }

 private:
  // Where it always is; or anywhere, when somebody else lies there (a recorder that records no more, say).
  void reserve() {
    if (arena_ || reserve_at(base_, MAP_FIXED_NOREPLACE) || reserve_at(0, 0)) return;
    throw HipError(hipErrorOutOfMemory,
                   fmt::format("the address range at {:#x} is taken: no memory can be given out", base_.load()));
  }

  bool reserve_at(uint64_t wanted, int how) {
    // A limit on address space (ulimit -v) may leave less than the usual.
    for (uint64_t size = memory::kDefaultRangeSize; size >= kSmallestRange; size /= 2) {
      void* got = ::mmap(reinterpret_cast<void*>(wanted), size, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | how, -1, 0);
      if (got == MAP_FAILED) continue;
      auto address = reinterpret_cast<uint64_t>(got);
      if (wanted == 0 || address == wanted) {
        base_ = address;
        backed_ = address;
        arena_.emplace(address, size);
        return true;
      }
      ::munmap(got, size);
    }
    return false;
  }

  bool back(uint64_t end) {
    if (end <= backed_) return true;
    uint64_t size = (end - backed_ + kChunk - 1) / kChunk * kChunk;
    size = std::min(size, arena_->base() + arena_->size() - backed_);
    if (::mprotect(reinterpret_cast<void*>(backed_), size, PROT_READ | PROT_WRITE) != 0) return false;
    backed_ += size;
    return true;
  }

  std::atomic<uint64_t> base_;
  std::mutex mutex_;
  std::optional<memory::Arena> arena_;
  uint64_t backed_ = 0;  // addresses below are memory
  std::map<uint64_t, std::pair<MemoryKind, unsigned>> details_;
  std::deque<Block> released_;  // the latest first
};

// Never destroyed: applications free memory from destructors that run last.
Range& device_range() {
  static auto* range = new Range(memory::kDeviceBase);
  return *range;
}
Range& host_range() {
  static auto* range = new Range(memory::kHostBase);
  return *range;
}

}  // namespace

void* allocate(uint64_t size, MemoryKind kind, unsigned flags, uint64_t align) {
  Range& range = kind == MemoryKind::kDevice ? device_range() : host_range();
  use_memory(size);
  try {
    return reinterpret_cast<void*>(range.allocate(size, align, kind, flags));
  } catch (...) {
    unuse_memory(size);
    throw;
  }
}

bool release(const void* pointer, bool host) {
  auto size = (host ? host_range() : device_range()).release(reinterpret_cast<uint64_t>(pointer));
  if (size) unuse_memory(*size);
  return size.has_value();
}

std::optional<Block> find_block(const void* pointer) {
  auto address = reinterpret_cast<uint64_t>(pointer);
  for (Range* range : {&device_range(), &host_range()}) {
    if (!range->holds(address)) continue;
    if (auto block = range->find(address)) return block;
  }
  return std::nullopt;
}

std::vector<Block> all_blocks() {
  std::vector<Block> blocks;
  device_range().list(blocks);
  host_range().list(blocks);
  return blocks;
}

std::vector<Block> released_blocks() {
  std::vector<Block> blocks;
  device_range().list_released(blocks);
  host_range().list_released(blocks);
  return blocks;
}

void check_range(const void* pointer, uint64_t size) {
  require(pointer);
  auto block = find_block(pointer);
  if (block) require(size <= block->size - (reinterpret_cast<uint64_t>(pointer) - block->address));
}

uint64_t total_memory() {
  // Three quarters of what the machine has: programs ask for what is free, and take most of it.
  static const uint64_t total =
      static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) / 4 * 3;
  return total;
}

uint64_t used_memory() { return used; }

void use_memory(uint64_t size) {
  uint64_t now = used;
  do {
    if (size > total_memory() || now > total_memory() - size) throw HipError(hipErrorOutOfMemory);
  } while (!used.compare_exchange_weak(now, now + size));
}

void unuse_memory(uint64_t size) { used -= size; }

}  // namespace mneme::hostgpu
