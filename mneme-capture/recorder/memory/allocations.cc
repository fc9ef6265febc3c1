// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/memory/allocations.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "recorder/memory/address.h"
#include "recorder/memory/address_limit.h"
#include "recorder/memory/block_digests.h"
#include "recorder/memory/block_runs.h"
#include "recorder/memory/own_memory.h"
#include "recorder/memory/segment_list.h"

namespace mneme::record {
namespace {

constexpr uint64_t kChunkSize = 64 << 20;
constexpr uint64_t kSmallestChunk = 2 << 20;    // what vendors give memory out in
constexpr uint64_t kSmallestRange = 256 << 20;  // of addresses
constexpr uint64_t kPage = 4096;
constexpr size_t kRemembered = 1000;   // allocations that were released
constexpr size_t kMostWatched = 1000;  // pieces of registered memory, over the process's life

constexpr uint64_t round_up(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

// Large ones start a block, so that equal contents give equal blocks.
uint64_t alignment(Runtime& runtime, Space space, uint64_t size) {
  if (size >= bundle::kBlockSize) return bundle::kBlockSize;
  return space == Space::kHost ? kPage : runtime.alignment();
}

// Address space without memory; nothing else of the process can come to lie there.
bool reserve_host(uint64_t base, uint64_t size) {
  void* want = pointer_to(base);
  void* got = ::mmap(want, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == want) return true;
  if (got != MAP_FAILED) ::munmap(got, size);  // a kernel that takes the address as a hint only
  return false;
}

// Calls `reserve` with a size, and with half of it, and so on, until there is that much: the process may have a limit
// (ulimit -v). nullopt: not even the least is to be had; `reserve` knows when it is asked for that.
template <typename Reserve>
std::optional<uint64_t> reserve_most(uint64_t size, const Reserve& reserve) {
  const uint64_t least = std::min(size, kSmallestRange);
  for (;; size = std::max(size / 2 / kChunkSize * kChunkSize, least)) {
    if (reserve(size, size == least)) return size;
    if (size == least) return std::nullopt;
  }
}

}  // namespace

Allocations::Allocations(Runtime& runtime, uint64_t range_size, Listener listener)
    : runtime_(runtime), listener_(std::move(listener)), range_size_(range_size) {}

Allocations::~Allocations() {
  if (!areas_.empty()) ::munmap(pointer_to(areas_.back().arena.base()), areas_.back().arena.size());
}

void Allocations::abandon() {
  std::lock_guard lock(mutex_);
  watch_.forget();
  bool used = std::ranges::any_of(areas_, [](const Area& area) { return area.backed > area.arena.base(); });
  if (!areas_.empty() && !used) unreserve();
}

void Allocations::reserve_devices(std::vector<Area>& areas, int count, uint64_t most) {
  uint64_t size = std::min(most, (memory::kHostBase - memory::kDeviceBase) / static_cast<uint64_t>(count));
  for (int device = 0; device < count; ++device) {
    const uint64_t base = memory::device_base(device, range_size_);
    MemoryRange range;
    // What the process is limited to has to do for all, and for what it does else.
    size = *reserve_most(size, [&](uint64_t part, bool least) {
      try {
        range = runtime_.reserve(base, part, device);
        return true;
      } catch (const Error&) {
        if (least) throw;
        return false;
      }
    });
    areas.push_back({Space::kDevice, memory::Arena(range.address, range.size), range.address, device});
    if (range.address != base) {
      listener_.elsewhere(Reserved{range.address, range.size, static_cast<uint32_t>(device)});
      size = most;  // of the next one: that was of this one's memory, not of addresses
    }
  }
}

// All at once, and early: later somebody else may lie there. Where addresses are few, the devices have half of them,
// and have to leave some for host memory, and both some for the application.
void Allocations::reserve() {
  if (!areas_.empty()) return;
  const auto devices = static_cast<uint64_t>(std::max(runtime_.device_count(), 1));
  const uint64_t share = addresses_left() / 2 / devices / kChunkSize * kChunkSize;
  for (uint64_t most = std::min(range_size_, std::max(share, kSmallestRange)); areas_.empty();) {
    most = reserve(most) / 2 / kChunkSize * kChunkSize;
    if (!areas_.empty() || most >= std::min(range_size_, kSmallestRange)) continue;
    throw Error::of(
        "the address range at {:#x}, where host memory that kernels reach is recorded, is taken or too large in the "
        "application's process",
        memory::kHostBase);
  }
}

// What the last device could have; all of it where its memory lies elsewhere, and has taken none of these addresses.
uint64_t Allocations::size_of_ranges(const std::vector<Area>& areas, uint64_t most) const {
  const Area& last = areas.back();
  return last.arena.base() == memory::device_base(last.device, range_size_) ? last.arena.size() : most;
}

// Returns how much of each device's there is. Leaves no areas where there is none of host memory's.
uint64_t Allocations::reserve(uint64_t most) {
  std::vector<Area> areas;
  auto take_back = [&] {
    for (const Area& area : areas) runtime_.unreserve(area.arena.base(), area.arena.size());
  };
  try {
    reserve_devices(areas, std::min(runtime_.device_count(), memory::kMostDevices), most);
  } catch (...) {
    take_back();
    throw;
  }
  const uint64_t base = memory::kHostBase;
  const uint64_t size = std::min(size_of_ranges(areas, most), std::max(addresses_left() / 2, kSmallestRange));
  std::optional<uint64_t> host = reserve_most(size, [&](uint64_t part, bool) { return reserve_host(base, part); });
  if (!host) {
    take_back();
    return size;
  }
  areas.push_back({Space::kHost, memory::Arena(base, *host), base});
  areas_ = std::move(areas);
  return size;
}

void Allocations::unreserve() {
  for (const Area& area : areas_) {
    if (area.space == Space::kDevice) {
      runtime_.unreserve(area.arena.base(), area.arena.size());
    } else {
      ::munmap(pointer_to(area.arena.base()), area.arena.size());
    }
  }
  areas_.clear();
}

void Allocations::unback_host(uint64_t address, uint64_t size) {
  ::mmap(pointer_to(address), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

std::optional<Fd> Allocations::back_host(uint64_t address, uint64_t size) {
  Fd memory = zeroed_memory_file("mneme-host", size);
  void* want = pointer_to(address);
  if (::mmap(want, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory.get(), 0) == MAP_FAILED) {
    return std::nullopt;
  }
  if (runtime_.adopt_host(want, size)) return memory;
  unback_host(address, size);
  return std::nullopt;
}

bool Allocations::back_piece(Area& area, uint64_t size) {
  bool host = area.space == Space::kHost;
  std::optional<Fd> memory = host ? back_host(area.backed, size) : runtime_.back(area.backed, size, area.device);
  if (!memory) return false;
  try {
    listener_.appeared(Chunk{area.backed, size, !*memory, static_cast<uint32_t>(area.device)}, memory->get());
  } catch (...) {
    if (host) {
      runtime_.disown_host(pointer_to(area.backed));
      unback_host(area.backed, size);
    } else {
      runtime_.unback(area.backed, size);
    }
    throw;
  }
  if (*memory && !runtime_.fetches()) watch_.add({area.backed, size});
  // Device memory is the runtime's, also in children.
  if (host) shared_.push_back({area.backed, size, KeptDescriptor(std::move(*memory))});
  area.backed += size;
  return true;
}

bool Allocations::back(Area& area, uint64_t end) {
  uint64_t limit = area.arena.base() + area.arena.size();
  while (area.backed < end) {
    uint64_t most = largest_file() / kSmallestChunk * kSmallestChunk;  // shared memory is a file
    if (most == 0) {
      throw Error::of("the process may make files of {} bytes at most (ulimit -f), too little for memory to be shared",
                      largest_file());
    }
    auto piece = [&](uint64_t step) {
      return std::min({round_up(end - area.backed, step), most, limit - area.backed});
    };
    // The last memory of a device may not be a whole chunk.
    if (!back_piece(area, piece(kChunkSize)) && !back_piece(area, piece(kSmallestChunk))) return false;
  }
  return true;
}

void* Allocations::allocate(Space space, uint64_t size, uint64_t flags, int device) {
  std::lock_guard lock(mutex_);
  reserve();
  Area& area = space == Space::kHost ? areas_.back() : areas_.at(static_cast<size_t>(device));
  std::optional<uint64_t> address = area.arena.allocate(size, alignment(runtime_, space, size));
  if (!address) return nullptr;
  bool backed = false;
  try {
    backed = back(area, *address + size);
  } catch (...) {
    area.arena.release(*address);
    throw;
  }
  if (!backed) {
    area.arena.release(*address);
    return nullptr;
  }
  if (flags) flags_[*address] = flags;
  return pointer_to(*address);
}

Allocations::Area* Allocations::owner(uint64_t address) {
  for (Area& area : areas_) {
    if (address - area.arena.base() < area.arena.size()) return &area;
  }
  return nullptr;
}

void Allocations::forget(uint64_t address) {
  Area* area = owner(address);
  uint64_t size = area->arena.allocations().at(address);
  annotations_.erase(annotations_.lower_bound(address), annotations_.lower_bound(address + size));
  auto flags = flags_.find(address);
  forgotten_.push_front({area->space, address, size, flags == flags_.end() ? 0 : flags->second, area->device});
  if (forgotten_.size() > kRemembered) forgotten_.pop_back();
  flags_.erase(address);
  area->arena.release(address);
}

Allocations::Listing Allocations::list() const {
  std::lock_guard lock(mutex_);
  Listing listing;
  for (const Area& area : areas_) {
    for (auto [address, size] : area.arena.allocations()) {
      auto flags = flags_.find(address);
      listing.live.push_back({area.space, address, size, flags == flags_.end() ? 0 : flags->second, area.device});
    }
  }
  listing.released.assign(forgotten_.begin(), forgotten_.end());
  return listing;
}

bool Allocations::release(const void* pointer) {
  std::lock_guard lock(mutex_);
  uint64_t address = address_of(pointer);
  Area* area = owner(address);
  if (!area || !area->arena.allocations().contains(address) || deferred_.contains(address)) return false;
  if (std::find(released_.begin(), released_.end(), address) != released_.end()) return false;
  release_now(address);
  return true;
}

void Allocations::release_now(uint64_t address) {
  if (held_) {
    released_.push_back(address);
  } else {
    forget(address);
  }
}

bool Allocations::release_later(const void* pointer, void* stream) {
  std::lock_guard lock(mutex_);
  uint64_t address = address_of(pointer);
  Area* area = owner(address);
  if (!area || !area->arena.allocations().contains(address) || deferred_.contains(address)) return false;
  if (std::find(released_.begin(), released_.end(), address) != released_.end()) return false;
  deferred_.add(address, area->arena.allocations().at(address), area->device, stream);
  mark_.store(deferred_.mark());
  return true;
}

void* Allocations::allocate_again(uint64_t size, int device, void* stream) {
  std::lock_guard lock(mutex_);
  std::optional<uint64_t> address = deferred_.reuse(size, device, stream);
  if (!address) return nullptr;
  mark_.store(deferred_.mark());
  annotations_.erase(annotations_.lower_bound(*address), annotations_.lower_bound(*address + size));
  return pointer_to(*address);
}

void Allocations::forget_stream(void* stream) {
  std::lock_guard lock(mutex_);
  deferred_.forget_stream(stream);
}

void Allocations::reclaim(uint64_t mark) {
  std::lock_guard lock(mutex_);
  for (uint64_t address : deferred_.take(mark)) release_now(address);
  mark_.store(deferred_.mark());
}

void Allocations::reclaim(uint64_t mark, void* stream) {
  std::lock_guard lock(mutex_);
  for (uint64_t address : deferred_.take(mark, stream)) release_now(address);
  mark_.store(deferred_.mark());
}

uint64_t Allocations::waiting_bytes() const {
  std::lock_guard lock(mutex_);
  return deferred_.bytes();
}

void Allocations::hold() {
  std::lock_guard lock(mutex_);
  held_ = true;
}

void Allocations::let_go() {
  std::lock_guard lock(mutex_);
  held_ = false;
  for (uint64_t address : released_) forget(address);
  released_.clear();
  for (auto memory = registered_.begin(); memory != registered_.end();) {
    memory = memory->second.gone ? forget_registered(memory) : std::next(memory);
  }
}

std::optional<Allocations::Known> Allocations::find(const void* pointer) const {
  std::lock_guard lock(mutex_);
  uint64_t address = address_of(pointer);
  for (const Area& area : areas_) {
    std::optional<memory::Allocation> found = area.arena.find(address);
    if (!found) continue;
    auto flags = flags_.find(found->address);
    return Known{area.space, found->address, found->size, flags == flags_.end() ? 0 : flags->second, area.device};
  }
  return std::nullopt;
}

uint64_t Allocations::unused(int device) const {
  std::lock_guard lock(mutex_);
  for (const Area& area : areas_) {
    if (area.space != Space::kDevice || area.device != device) continue;
    return area.backed - area.arena.base() - area.arena.live_bytes() + runtime_.taken_ahead(device);
  }
  return 0;
}

bool Allocations::is_free(const void* pointer) const {
  std::lock_guard lock(mutex_);
  uint64_t address = address_of(pointer);
  return std::ranges::any_of(areas_, [&](const Area& area) {
    return address - area.arena.base() < area.arena.size() && !area.arena.find(address);
  });
}

void Allocations::add_registered(const void* pointer, uint64_t size) {
  std::lock_guard lock(mutex_);
  uint64_t address = address_of(pointer);
  if (size == 0 || owner(address) || registered_.contains(address)) return;
  registered_.emplace(address, Registered{size, show(address, size)});
}

// The process's own memory, to the parent; by a copy if there is no other way.
std::optional<KeptDescriptor> Allocations::show(uint64_t address, uint64_t size) {
  if (listener_.reads_memory()) {
    listener_.appeared(Chunk{address, size}, -1);
    return std::nullopt;
  }
  KeptDescriptor copy(zeroed_memory_file("mneme-copy", size));
  listener_.appeared(Chunk{address, size}, copy.get());
  return copy;
}

void Allocations::remove_registered(const void* pointer) {
  std::lock_guard lock(mutex_);
  auto found = registered_.find(address_of(pointer));
  if (found == registered_.end()) return;
  forget_registered(found);
}

// The next.
std::map<uint64_t, Allocations::Registered>::iterator Allocations::forget_registered(
    std::map<uint64_t, Registered>::iterator memory) {
  if (held_) {
    memory->second.gone = true;
    return std::next(memory);
  }
  annotations_.erase(annotations_.lower_bound(memory->first),
                     annotations_.lower_bound(memory->first + memory->second.size));
  watch_.remove({memory->first, memory->second.size});
  listener_.gone(Drop{memory->first});
  return registered_.erase(memory);
}

bool Allocations::add_mapped(const void* pointer, uint64_t size, int descriptor, int device) {
  std::lock_guard lock(mutex_);
  uint64_t address = address_of(pointer);
  auto next = registered_.lower_bound(address);
  if (next != registered_.end() && next->first < address + size) return false;
  if (next != registered_.begin() && std::prev(next)->first + std::prev(next)->second.size > address) return false;
  listener_.appeared(Chunk{address, size, descriptor < 0, static_cast<uint32_t>(device)}, descriptor);
  registered_.emplace(address, Registered{size, std::nullopt, true, false, false, device});
  return true;
}

void Allocations::remove_mapped(const void* pointer, uint64_t size) {
  std::lock_guard lock(mutex_);
  uint64_t address = address_of(pointer);
  for (auto memory = registered_.lower_bound(address); memory != registered_.end() && memory->first < address + size;) {
    memory = memory->second.mapped ? forget_registered(memory) : std::next(memory);
  }
}

void Allocations::refresh() {
  std::lock_guard lock(mutex_);
  std::vector<MemoryRange> fresh, known;  // of the process's own, by address: what the parent has not read, and has
  for (auto& [address, memory] : registered_) {
    if (memory.copy) refresh_copy(address, memory);
    if (memory.copy || memory.mapped) continue;
    (std::exchange(memory.read, true) ? known : fresh).push_back({address, memory.size});
  }
  std::vector<MemoryRange> unwritten;
  if (runtime_.fetches()) {
    runtime_.digests(device_blocks(), listener_.known);
  } else {
    watch(fresh);
    unwritten = watch_.look();
    listener_.unwritten(Unwritten{unwritten});
  }
  tell_digests(known, unwritten);
}

void Allocations::tell_digests(const std::vector<MemoryRange>& memory, const std::vector<MemoryRange>& unwritten) {
  std::vector<MemoryRange> blocks;
  add_blocks(memory, unwritten, blocks);
  if (blocks.empty()) return;
  listener_.digesting();
  for (const Digests& run : digests_of(blocks, readable_memory())) listener_.known(run);
}

void Allocations::watch(const std::vector<MemoryRange>& registered) {
  if (registered.empty()) return;
  const std::vector<MemoryRange> own = memory_of_its_own();
  for (const MemoryRange& memory : registered) {
    for (const MemoryRange& part : own) {
      // Whole blocks, since of others nothing is ever told; each piece is a mapping of its own, of which a process may
      // not have many.
      if (watched_ == kMostWatched) return;
      const uint64_t begin = round_up(std::max(memory.address, part.address), bundle::kBlockSize);
      const uint64_t end =
          std::min(memory.address + memory.size, part.address + part.size) / bundle::kBlockSize * bundle::kBlockSize;
      if (begin >= end) continue;
      watch_.add({begin, end - begin});
      ++watched_;
    }
  }
}

void Allocations::refresh_copy(uint64_t address, const Registered& memory) {
  if (memory.size > largest_file()) {
    throw Error::of("the process may make files of {} bytes at most (ulimit -f), and registered more memory than that",
                    largest_file());
  }
  int copy = memory.copy->get();
  if (copy < 0) throw Error("the application closed a descriptor that recording of registered memory needs");
  // Written rather than copied: an application may have unmapped what it registered, and must not crash here.
  uint64_t done = 0;
  while (done < memory.size) {
    ssize_t written = ::pwrite(copy, pointer_to(address + done), memory.size - done, static_cast<off_t>(done));
    if (written <= 0) break;
    done += static_cast<uint64_t>(written);
  }
}

// Blocks in which something is allocated: all of an area's has memory. Of what is mapped there are only those in it.
std::vector<Piece> Allocations::device_blocks() const {
  std::vector<Piece> pieces;
  auto add = [&](uint64_t begin, uint64_t end, int device) {
    if (begin < end) pieces.push_back({begin, end - begin, static_cast<uint32_t>(device)});
  };
  for (const Area& area : areas_) {
    if (area.space != Space::kDevice) continue;
    const auto& all = area.arena.allocations();
    for (auto at = all.begin(); at != all.end();) {
      uint64_t begin = at->first, end = begin + at->second;
      // What lies between near ones goes with them: that costs less than a call.
      for (++at; at != all.end() && at->first - end <= bundle::kBlockSize; ++at) end = at->first + at->second;
      add(begin / bundle::kBlockSize * bundle::kBlockSize, round_up(end, bundle::kBlockSize), area.device);
    }
  }
  for (const auto& [address, memory] : registered_) {
    uint64_t end = (address + memory.size) / bundle::kBlockSize * bundle::kBlockSize;
    if (memory.mapped && !memory.gone) add(round_up(address, bundle::kBlockSize), end, memory.device);
  }
  return pieces;
}

void Allocations::add_variable(MemoryRange variable, int device) {
  {
    std::lock_guard lock(mutex_);
    if (!runtime_.fetches() || variable.size == 0 || containing(variable.address)) return;
  }
  add_mapped(pointer_to(variable.address), variable.size, -1, device);
}

std::optional<MemoryRange> Allocations::containing(uint64_t address) const {
  for (const Area& area : areas_) {
    if (auto found = area.arena.find(address)) return MemoryRange{found->address, found->size};
  }
  auto after = registered_.upper_bound(address);
  if (after == registered_.begin()) return std::nullopt;
  auto& [start, memory] = *std::prev(after);
  if (address - start >= memory.size) return std::nullopt;
  return MemoryRange{start, memory.size};
}

bool Allocations::annotate(const void* pointer, std::string json, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  uint64_t address = address_of(pointer);
  std::optional<MemoryRange> memory = containing(address);
  if (!memory) return false;
  annotations_[address] = std::move(json);
  uint64_t room = memory->address + memory->size - address;
  if (bytes == 0 || bytes > room) bytes = room;
  // Where annotations ended that were there before.
  auto next = annotations_.upper_bound(address);
  while (next != annotations_.end() && next->first < address + bytes && next->second.empty()) {
    next = annotations_.erase(next);
  }
  // Unless one begins there, or before it: that goes on as it was.
  bool is_first = next == annotations_.end() || next->first >= address + bytes;
  if (bytes < room && is_first) annotations_.emplace(address + bytes, "");
  return true;
}

bool Allocations::takes_mask(const void* pointer, uint64_t runs) {
  std::lock_guard lock(mutex_);
  uint64_t address = address_of(pointer), others = 0;
  std::erase_if(masks_, [&](const auto& mask) {
    auto annotation = annotations_.find(mask.first);
    return annotation == annotations_.end() || annotation->second.find("\"ignore\":[") == std::string::npos;
  });
  for (const auto& [where, count] : masks_) others += where == address ? 0 : count;
  if (runs > kMostRuns || others > kMostRuns - runs) return false;
  if (containing(address)) masks_[address] = runs;
  return true;
}

std::vector<WireSegment> Allocations::segments(const std::vector<Symbol>& symbols,
                                               std::set<std::string>* annotated_in_part) const {
  std::lock_guard lock(mutex_);
  std::vector<uint64_t> special;
  for (const Symbol& symbol : symbols) special.push_back(symbol.range.address);
  for (const auto& [address, json] : annotations_) special.push_back(address);
  SegmentList list(std::move(special));
  auto device_of = [](const auto& memory) { return static_cast<uint32_t>(memory.device); };
  for (const Area& area : areas_) {
    auto kind = area.space == Space::kDevice ? bundle::SegmentKind::kHeap : bundle::SegmentKind::kHost;
    for (auto [address, size] : area.arena.allocations()) list.add({address, size}, kind, device_of(area));
  }
  for (const auto& [address, memory] : registered_) {
    if (memory.gone) continue;
    auto kind = memory.mapped ? bundle::SegmentKind::kHeap : bundle::SegmentKind::kHost;
    list.add_apart({address, memory.size}, kind, device_of(memory));
  }
  for (const Symbol& symbol : symbols) list.name(symbol.range, symbol.name);
  for (const auto& [address, json] : annotations_) list.annotate(address, json);
  if (annotated_in_part) annotated_in_part->insert(list.annotated_in_part().begin(), list.annotated_in_part().end());
  return list.take();
}

}  // namespace mneme::record
