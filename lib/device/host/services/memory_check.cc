// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/services/memory_check.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "device/host/grid/running_block.h"
#include "device/host/heap/device_heap.h"
#include "device/host/services/services.h"

namespace mneme::device::host {
namespace {

constexpr uint64_t kNullPage = 4096;
constexpr uint64_t kNear = 1 << 20;     // what is further away has nothing to do with an address
constexpr uint64_t kStack = 8 << 20;    // of one work-item at most
constexpr uint64_t kArguments = 4096;   // of a kernel at most
constexpr uint64_t kGroupSegment = 28;  // where a dispatch packet has the bytes of shared memory

constexpr const char* kVerbs[] = {"reads", "writes", "updates"};  // by MemoryAccess

uint64_t number(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

struct Range {
  uint64_t begin = 0, end = 0;
  bool has(uint64_t address) const { return address >= begin && address < end; }
  bool has(uint64_t address, uint64_t size) const {
    return address >= begin && address <= end && size <= end - address;
  }
};

Range range_of(const KnownMemory& memory) { return {memory.address, memory.address + memory.size}; }
Range range_of(const HeapPiece& piece) { return {piece.address, piece.address + piece.size}; }

// The last that begins at the address or before it; null: none does.
const KnownMemory* at_or_before(std::span<const KnownMemory> memory, uint64_t address) {
  auto after = std::upper_bound(memory.begin(), memory.end(), address,
                                [](uint64_t a, const KnownMemory& known) { return a < known.address; });
  return after == memory.begin() ? nullptr : &*std::prev(after);
}

const KnownMemory* find(std::span<const KnownMemory> memory, uint64_t address) {
  const KnownMemory* known = at_or_before(memory, address);
  return known && range_of(*known).has(address) ? known : nullptr;
}

const RunOptions& options_of(const RunningBlock& block) {
  return static_cast<const ServiceState*>(block.launch)->options;
}

Range shared_of(const RunningBlock& block) {
  uint32_t size = 0;
  std::memcpy(&size, static_cast<const std::byte*>(block.dispatch) + kGroupSegment, sizeof size);
  return {number(block.shared), number(block.shared) + size};
}

// Memory of the block's and of the code's own.
bool is_local(const RunningBlock& block, uint64_t address, uint64_t size, const void* code) {
  auto frame = number(__builtin_frame_address(0));
  if (Range{frame, frame + kStack}.has(address, size)) return true;
  auto frames = number(block.frames), arguments = number(block.arguments);
  if (Range{frames, frames + block.frames_size}.has(address, size)) return true;
  if (Range{arguments, arguments + kArguments}.has(address, size)) return true;
  for (const void* packet : {block.implicit, block.dispatch}) {
    if (Range{number(packet), number(packet) + 256}.has(address, size)) return true;
  }
  Dl_info constants{}, instructions{};
  return ::dladdr(reinterpret_cast<const void*>(address), &constants) && ::dladdr(code, &instructions) &&
         constants.dli_fbase == instructions.dli_fbase;
}

std::string bytes(uint64_t count) { return fmt::format("{} byte{}", count, count == 1 ? "" : "s"); }

// Where it is, from a range that it leaves or misses.
std::string relation(Range range, uint64_t address, uint64_t size, const std::string& what) {
  if (range.has(address)) {
    return fmt::format("of which the last {} {} beyond the end of {}", address + size - range.end,
                       address + size - range.end == 1 ? "is" : "are", what);
  }
  if (address >= range.end) return fmt::format("{} after {}", bytes(address - range.end), what);
  return fmt::format("{} before {}", bytes(range.begin - address), what);
}

uint64_t distance(Range range, uint64_t address) {
  return address < range.begin ? range.begin - address : address - std::min(address, range.end);
}

// Of what was freed the latest that held the address.
const KnownMemory* freed_at(const RunOptions& options, uint64_t address) {
  for (const KnownMemory& freed : options.freed) {
    if (range_of(freed).has(address)) return &freed;
  }
  return nullptr;
}

// Where memory begins at the origin itself, the pointer may as well be the end of what lies before.
bool ends_at(Range range, uint64_t origin) { return range.end == origin; }

bool is_in_heap(const RunOptions& options, uint64_t address) { return options.heap && options.heap->has(address); }

// Where the origin or the address is in the heap. What the kernel's allocations leave between them is not theirs, so
// that a pointer to the end of one is to no other.
bool is_valid_in_heap(RunningBlock& block, uint64_t origin, uint64_t address, uint64_t size) {
  const RunOptions& options = options_of(block);
  DeviceHeap& heap = *options.heap;
  uint64_t turn = heap.turn();
  bool from_elsewhere = !heap.has(origin) && origin != heap.end() && find(options.memory, origin);
  if (from_elsewhere || !heap.has(address)) return false;
  if (heap.is_unknown_at(address)) return size <= heap.end() - address;
  auto piece = heap.piece_at(address);
  if (!piece || !range_of(*piece).has(address, size)) return false;
  if (!range_of(*piece).has(origin) && heap.piece_at(origin)) return false;
  block.checked_piece = *piece;
  block.checked_turn = turn;
  return true;
}

// The piece of the heap that was looked up last, if it is still there.
bool is_checked_piece(const RunningBlock& block, uint64_t origin, uint64_t address, uint64_t size) {
  Range piece = range_of(block.checked_piece);
  return piece.has(origin) && piece.has(address, size) && options_of(block).heap->turn() == block.checked_turn;
}

// Not the memory that was looked up last.
[[gnu::noinline]] bool is_valid(RunningBlock& block, uint64_t origin, uint64_t address, uint64_t size,
                                const void* code) {
  const RunOptions& options = options_of(block);
  Range shared = shared_of(block);
  if (shared.has(origin) || shared.has(address)) return shared.has(address, size);
  if (is_in_heap(options, origin) || is_in_heap(options, address)) {
    return is_valid_in_heap(block, origin, address, size);
  }
  const KnownMemory* whole = find(options.memory, origin);
  const KnownMemory* known = find(options.memory, address);
  if (!known) return !whole && is_local(block, address, size, code);
  bool same = !whole || whole == known || (origin == whole->address && ends_at(range_of(*known), origin));
  if (!same || !range_of(*known).has(address, size)) return false;
  block.checked_begin = known->address;
  block.checked_end = known->address + known->size;
  return true;
}

std::string describe_access(const RunningBlock& block, uint32_t access, uint64_t origin, uint64_t address,
                            uint64_t size) {
  Range shared = shared_of(block);
  std::string where;
  if (shared.has(origin) || shared.has(address)) {
    where = relation(shared, address, size,
                     fmt::format("the block's {} of shared memory", bytes(shared.end - shared.begin)));
  } else {
    where = describe_place(options_of(block), origin, address, size);
  }
  return fmt::format("{} {} at {:#x}, {}", kVerbs[access % 3], bytes(size), address, where);
}

std::string describe_misaligned(uint32_t access, uint64_t address, uint64_t size, uint32_t align) {
  return fmt::format("{} {} at {:#x}, which is not a multiple of {}", kVerbs[access % 3], bytes(size), address, align);
}

std::string what(const HeapPiece& piece) {
  return fmt::format("a {}-byte allocation made by malloc in a kernel", piece.size);
}

std::string describe_released(Range range, uint64_t address, uint64_t size, std::string what) {
  what += ", which was freed";
  return range.has(address, size) ? fmt::format("in {}", what) : relation(range, address, size, what);
}

// Empty: it has nothing to do with what kernels allocated.
std::string describe_in_heap(DeviceHeap& heap, uint64_t origin, uint64_t address, uint64_t size) {
  if (auto whole = heap.piece_at(origin)) return relation(range_of(*whole), address, size, what(*whole));
  for (uint64_t place : {origin, address}) {
    auto gone = heap.released_at(place);
    if (gone) return describe_released(range_of(*gone), address, size, what(*gone));
  }
  if (!heap.has(address)) return {};
  auto nearest = heap.nearest_to(address);
  if (nearest && distance(range_of(*nearest), address) < kNear) {
    return relation(range_of(*nearest), address, size, what(*nearest));
  }
  return "in the device's heap, where no kernel has allocated anything";
}

}  // namespace

std::string describe_place(const RunOptions& options, uint64_t origin, uint64_t address, uint64_t size) {
  if (const KnownMemory* whole = find(options.memory, origin);
      whole && !is_in_heap(options, origin) && !range_of(*whole).has(address, size)) {
    return relation(range_of(*whole), address, size, whole->what);
  }
  if (address < kNullPage || origin == 0) {
    return address == 0 ? "a null pointer" : fmt::format("{} after a null pointer", bytes(address));
  }
  if (is_in_heap(options, origin) || is_in_heap(options, address)) {
    std::string text = describe_in_heap(*options.heap, origin, address, size);
    if (!text.empty()) return text;
  }
  for (uint64_t place : {origin, address}) {
    if (const KnownMemory* freed = freed_at(options, place)) {
      return describe_released(range_of(*freed), address, size, freed->what);
    }
  }
  const KnownMemory* before = at_or_before(options.memory, address);
  const KnownMemory* after = before ? before + 1 : options.memory.data();
  if (after == options.memory.data() + options.memory.size()) after = nullptr;
  const KnownMemory* nearest = before;
  if (!before || (after && distance(range_of(*after), address) < distance(range_of(*before), address))) nearest = after;
  if (nearest && distance(range_of(*nearest), address) < kNear) {
    return relation(range_of(*nearest), address, size, nearest->what);
  }
  return "where the device has no memory";
}

void check_access(codegen::host::BlockContext* context, uint32_t thread, const void* origin_pointer,
                  const void* pointer, uint64_t size, uint32_t access, uint32_t align) {
  auto& block = *static_cast<RunningBlock*>(context);
  block.checked_thread = thread;
  uint64_t origin = number(origin_pointer), address = number(pointer);
  Range last{block.checked_begin, block.checked_end};
  bool valid = size == 0 || (last.has(origin) && last.has(address, size)) ||
               is_checked_piece(block, origin, address, size) ||
               is_valid(block, origin, address, size, __builtin_return_address(0));
  if (!valid) {
    block.refused_address = address;
    stop_block(context, thread, describe_access(block, access, origin, address, size));
  }
  if (align > 1 && address % align != 0) {
    stop_block(context, thread, describe_misaligned(access, address, size, align), codegen::host::kMisaligned);
  }
}

}  // namespace mneme::device::host
