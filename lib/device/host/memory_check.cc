// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/memory_check.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "device/host/running_block.h"
#include "device/host/services.h"

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
  auto heap = options_of(block).heap;
  if (Range{number(heap.data()), number(heap.data()) + heap.size()}.has(address, size)) return true;
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

uint64_t distance(const KnownMemory& memory, uint64_t address) {
  Range range = range_of(memory);
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

// Not the memory that was looked up last.
[[gnu::noinline]] bool is_valid(RunningBlock& block, uint64_t origin, uint64_t address, uint64_t size,
                                const void* code) {
  const RunOptions& options = options_of(block);
  Range shared = shared_of(block);
  if (shared.has(origin) || shared.has(address)) return shared.has(address, size);
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

}  // namespace

std::string describe_place(const RunOptions& options, uint64_t origin, uint64_t address, uint64_t size) {
  if (const KnownMemory* whole = find(options.memory, origin); whole && !range_of(*whole).has(address, size)) {
    return relation(range_of(*whole), address, size, whole->what);
  }
  if (address < kNullPage || origin == 0) {
    return address == 0 ? "a null pointer" : fmt::format("{} after a null pointer", bytes(address));
  }
  for (uint64_t place : {origin, address}) {
    if (const KnownMemory* freed = freed_at(options, place)) {
      std::string what = freed->what + ", which was freed";
      return range_of(*freed).has(address, size) ? fmt::format("in {}", what)
                                                 : relation(range_of(*freed), address, size, what);
    }
  }
  const KnownMemory* before = at_or_before(options.memory, address);
  const KnownMemory* after = before ? before + 1 : options.memory.data();
  if (after == options.memory.data() + options.memory.size()) after = nullptr;
  const KnownMemory* nearest = before;
  if (!before || (after && distance(*after, address) < distance(*before, address))) nearest = after;
  if (nearest && distance(*nearest, address) < kNear) {
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
               is_valid(block, origin, address, size, __builtin_return_address(0));
  if (!valid) stop_block(context, thread, describe_access(block, access, origin, address, size));
  if (align > 1 && address % align != 0) {
    stop_block(context, thread, describe_misaligned(access, address, size, align));
  }
}

}  // namespace mneme::device::host
