// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/memory/known_memory.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>

#include "device/host/services/segment_memory.h"
#include "hostgpu/device/devices.h"
#include "hostgpu/memory/device_heap.h"
#include "hostgpu/memory/memory.h"
#include "hostgpu/memory/vmm.h"
#include "memory/arena.h"
#include "memory/listing.h"

namespace mneme::hostgpu {
namespace {

using device::host::KnownMemory;
using memory::ListedKind;
using memory::ListedMemory;

std::string describe(uint64_t size, ListedKind kind) {
  switch (kind) {
    case ListedKind::kPinned:
      return fmt::format("a {}-byte allocation of pinned host memory", size);
    case ListedKind::kManaged:
      return fmt::format("a {}-byte allocation of managed memory", size);
    case ListedKind::kRegistered:
      return fmt::format("{} bytes of registered host memory", size);
    default:
      return fmt::format("a {}-byte allocation of device memory", size);
  }
}

ListedKind listed(MemoryKind kind) {
  return kind == MemoryKind::kDevice    ? ListedKind::kDevice
         : kind == MemoryKind::kManaged ? ListedKind::kManaged
                                        : ListedKind::kPinned;
}

class Table {
 public:
  // False: there is no recorder that gives out memory.
  bool add_recorders() {
    auto list = reinterpret_cast<memory::ListMemory>(::dlsym(RTLD_DEFAULT, memory::kListMemorySymbol));
    auto take = [](void* table, const ListedMemory& memory) { static_cast<Table*>(table)->add(memory); };
    return list && list(take, this);
  }

  void add_own(bool recorded) {
    for (const Block& block : all_blocks()) add({block.address, block.size, listed(block.kind), false});
    for (const Block& block : released_blocks()) add({block.address, block.size, listed(block.kind), true});
    // What the recorder asked for to hand it out in pieces is not to be known as a whole.
    for (const Block& block : registered_blocks()) {
      if (!recorded || !is_recorders(block.address)) add({block.address, block.size, ListedKind::kRegistered, false});
    }
    for (const Mapping& mapping : all_mappings()) {
      if (recorded && is_recorders(mapping.address)) continue;
      made_.live.push_back(
          {mapping.address, mapping.size, fmt::format("{} bytes of memory mapped by hipMemMap", mapping.size)});
    }
  }

  void add_variable(const codegen::host::GlobalSlot& slot) {
    auto address = reinterpret_cast<uint64_t>(slot.address);
    // In the place of the allocation that holds it.
    std::erase_if(made_.live, [&](const KnownMemory& memory) {
      return address >= memory.address && address - memory.address < memory.size;
    });
    made_.live.push_back({address, slot.size, device::host::variable_text(slot.name)});
  }

  MemoryTable finish() {
    auto& live = made_.live;
    std::sort(live.begin(), live.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
    // Host memory can be registered piece by piece, and over other memory.
    uint64_t end = 0;
    for (KnownMemory& memory : live) {
      uint64_t last = memory.address + memory.size;
      memory.address = std::max(memory.address, std::min(end, last));
      memory.size = last - memory.address;
      end = std::max(end, last);
    }
    std::erase_if(live, [](const KnownMemory& memory) { return memory.size == 0; });
    return std::move(made_);
  }

 private:
  static bool is_recorders(uint64_t address) {
    return (address >= memory::kDeviceBase && address < memory::device_base(device_count())) ||
           (address >= memory::kHostBase && address - memory::kHostBase < memory::kDefaultRangeSize);
  }

  void add(const ListedMemory& memory) {
    auto& list = memory.released ? made_.released : made_.live;
    bool is_heap = device_heap() && memory.address == device_heap()->begin();
    list.push_back({memory.address, memory.size, is_heap ? device::host::kHeapText : describe(memory.size, memory.kind),
                    !is_heap && memory.kind == ListedKind::kDevice});
  }

  MemoryTable made_;
};

}  // namespace

MemoryTable known_memory(std::span<const codegen::host::GlobalSlot> variables) {
  Table table;
  table.add_own(table.add_recorders());
  for (const auto& slot : variables) table.add_variable(slot);
  return table.finish();
}

}  // namespace mneme::hostgpu
