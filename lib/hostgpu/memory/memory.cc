// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/memory/memory.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include "hostgpu/errors.h"
#include "hostgpu/held_over_forks.h"
#include "memory/arena.h"
#include "memory/listing.h"
#include "memory/own_region.h"

namespace mneme::hostgpu {
namespace {

constexpr uint64_t kChunk = uint64_t{64} << 20;
constexpr uint64_t kSmallestRange = uint64_t{1} << 30;
constexpr uint64_t kShareOfLayout = uint64_t{64} << 30;  // where a sanitizer gives out the addresses
// Memory of this size goes back to the system when it is freed.
constexpr uint64_t kLarge = uint64_t{1} << 20;
constexpr uint64_t kPage = 4096;
constexpr size_t kRemembered = 1000;  // blocks that were released

// Bytes in use, by device, and of the host's memory.
std::array<std::atomic<uint64_t>, kMostDevices> used{};
std::atomic<uint64_t> host_used{0};

void count(std::atomic<uint64_t>& counter, uint64_t size, uint64_t most) {
  uint64_t now = counter;
  do {
    if (size > most || now > most - size) throw HipError(hipErrorOutOfMemory);
  } while (!counter.compare_exchange_weak(now, now + size));
}

uint64_t installed_memory() {
  return static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

void count_in(uint64_t size, MemoryKind kind, int device) {
  if (kind == MemoryKind::kDevice) return use_memory(size, device);
  static const uint64_t most = installed_memory();
  count(host_used, size, most);
}

void count_out(uint64_t size, MemoryKind kind, int device) {
  if (kind == MemoryKind::kDevice) return unuse_memory(size, device);
  host_used -= size;
}

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
    details_[*address] = {kind, flags, current_device()};
    return *address;
  }

  std::optional<Block> release(uint64_t address) {
    std::lock_guard lock(mutex_);
    if (!arena_) return std::nullopt;
    auto found = arena_->find(address);
    if (!found || found->address != address) return std::nullopt;
    arena_->release(address);
    const Block block = block_at(address, found->size);
    released_.push_front(block);
    if (released_.size() > kRemembered) released_.pop_back();
    details_.erase(address);
    if (found->size >= kLarge) {
      uint64_t first = (address + kPage - 1) / kPage * kPage, last = (address + found->size) / kPage * kPage;
      ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
    }
    return block;
  }

  std::optional<Block> find(uint64_t address) {
    std::lock_guard lock(mutex_);
    if (!arena_) return std::nullopt;
    auto found = arena_->find(address);
    if (!found) return std::nullopt;
    return block_at(found->address, found->size);
  }

  void list(std::vector<Block>& live) {
    std::lock_guard lock(mutex_);
    if (!arena_) return;
    for (auto [address, size] : arena_->allocations()) live.push_back(block_at(address, size));
  }

  void list_released(std::vector<Block>& released) {
    std::lock_guard lock(mutex_);
    released.insert(released.end(), released_.begin(), released_.end());
  }

  bool holds(uint64_t address) const { return address - base_ < size_; }

 private:
  struct Details {
    MemoryKind kind = MemoryKind::kDevice;
    unsigned flags = 0;
    int device = 0;
  };

  Block block_at(uint64_t address, uint64_t size) const {
    const Details& details = details_.at(address);
    return {address, size, details.kind, details.flags, details.device};
  }

  // Where it always is; or anywhere, when somebody else lies there (a recorder that records no more, say).
  void reserve() {
    if (arena_ || (!memory::is_layout_taken() && reserve_at(base_, MAP_FIXED_NOREPLACE)) || reserve_at(0, 0)) return;
    throw HipError(hipErrorOutOfMemory,
                   fmt::format("the address range at {:#x} is taken, and a limit on address space leaves no other: no "
                               "memory can be given out",
                               base_.load()));
  }

  bool reserve_at(uint64_t wanted, int how) {
    // A limit on address space (ulimit -v) may leave less than the usual.
    uint64_t most = memory::is_layout_taken() ? kShareOfLayout : memory::kDefaultRangeSize;
    for (uint64_t size = most; size >= kSmallestRange; size /= 2) {
      void* got = ::mmap(reinterpret_cast<void*>(wanted), size, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | how, -1, 0);
      if (got == MAP_FAILED) continue;
      auto address = reinterpret_cast<uint64_t>(got);
      if (wanted == 0 || address == wanted) {
        base_ = address;
        size_ = size;
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
  std::atomic<uint64_t> size_{memory::kDefaultRangeSize};
  HeldOverForks<std::mutex> mutex_;
  std::optional<memory::Arena> arena_;
  uint64_t backed_ = 0;  // addresses below are memory
  std::map<uint64_t, Details> details_;
  std::deque<Block> released_;  // the latest first
};

// One for each device, and the host's. Never destroyed: applications free memory from destructors that run last.
std::vector<std::unique_ptr<Range>>& device_ranges() {
  static auto* ranges = [] {
    auto* made = new std::vector<std::unique_ptr<Range>>;
    for (int device = 0; device < device_count(); ++device) {
      made->push_back(std::make_unique<Range>(memory::device_base(device)));
    }
    return made;
  }();
  return *ranges;
}
Range& host_range() {
  static auto* range = new Range(memory::kHostBase);
  return *range;
}

template <typename Body>
void for_all_ranges(const Body& body) {
  for (auto& range : device_ranges()) body(*range);
  body(host_range());
}

}  // namespace

void* allocate(uint64_t size, MemoryKind kind, unsigned flags, uint64_t align) {
  const int device = current_device();
  Range& range = kind == MemoryKind::kDevice ? *device_ranges()[static_cast<size_t>(device)] : host_range();
  count_in(size, kind, device);
  try {
    return reinterpret_cast<void*>(range.allocate(size, align, kind, flags));
  } catch (...) {
    count_out(size, kind, device);
    throw;
  }
}

bool release(const void* pointer, bool host) {
  auto address = reinterpret_cast<uint64_t>(pointer);
  std::optional<Block> block;
  if (host) {
    block = host_range().release(address);
  } else {
    for (auto& range : device_ranges()) {
      if (!block) block = range->release(address);
    }
  }
  if (block) count_out(block->size, block->kind, block->device);
  return block.has_value();
}

std::optional<Block> find_block(const void* pointer) {
  auto address = reinterpret_cast<uint64_t>(pointer);
  std::optional<Block> block;
  for_all_ranges([&](Range& range) {
    if (!block && range.holds(address)) block = range.find(address);
  });
  return block;
}

std::vector<Block> all_blocks() {
  std::vector<Block> blocks;
  for_all_ranges([&](Range& range) { range.list(blocks); });
  return blocks;
}

std::vector<Block> released_blocks() {
  std::vector<Block> blocks;
  for_all_ranges([&](Range& range) { range.list_released(blocks); });
  return blocks;
}

std::optional<Extent> find_recorded(const void* pointer) {
  static const auto recorders = reinterpret_cast<memory::FindMemory>(::dlsym(RTLD_DEFAULT, memory::kFindMemorySymbol));
  memory::ListedMemory recorded;
  if (!recorders || !recorders(pointer, &recorded)) return std::nullopt;
  return Extent{recorded.address, recorded.size};
}

void check_range(const void* pointer, uint64_t size) {
  require(pointer);
  auto require_within = [&](uint64_t start, uint64_t length) {
    require(size <= length - (reinterpret_cast<uint64_t>(pointer) - start));
  };
  if (auto recorded = find_recorded(pointer)) return require_within(recorded->address, recorded->size);
  if (auto block = find_block(pointer)) require_within(block->address, block->size);
}

uint64_t total_memory() {
  // Three quarters of what the machine has, for all devices: programs ask for what is free, and take most of it.
  static const uint64_t total = installed_memory() / 4 * 3 / static_cast<uint64_t>(device_count());
  return total;
}

uint64_t used_memory(int device) { return used[static_cast<size_t>(device)]; }

void use_memory(uint64_t size, int device) { count(used[static_cast<size_t>(device)], size, total_memory()); }

void unuse_memory(uint64_t size, int device) { used[static_cast<size_t>(device)] -= size; }

}  // namespace mneme::hostgpu
