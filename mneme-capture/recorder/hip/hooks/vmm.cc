// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// HIP's virtual memory functions, as the application finds them first. Memory stays the runtime's. The stand-in's is
// made such that it can be shared with the parent; a GPU's is fetched, from when a device may use it. It lies where it
// lies in every process.
#include <algorithm>
#include <map>

#include "recorder/hip/runtime.h"
#include "recorder/memory/address.h"
#include "recorder/memory/mapped_memory.h"

namespace mneme::record::hip {

using Flags = unsigned long long;

CALL(Status, hipMemExportToShareableHandle, void*, Handle, int, Flags)

namespace {

constexpr char kTwice[] = "memory that hipMemMap mapped at two addresses";
constexpr char kMiddle[] = "memory that hipMemMap mapped from its middle on";
constexpr char kElsewhere[] = "memory mapped by hipMemMap on a device that is not recorded";

// Never destroyed: applications call HIP from destructors that run last.
MappedMemory& mapped() {
  static auto* only = new MappedMemory;
  return *only;
}

// On a GPU: what was mapped, by its address, and whether a device may use it and it is recorded.
struct Mapping {
  size_t size = 0;
  Handle handle = nullptr;
  int device = 0;
  bool possible = true, recorded = false;
};
struct Mappings {
  std::mutex mutex;
  std::map<uint64_t, Mapping> all;
};
Mappings& mappings() {
  static auto* only = new Mappings;
  return *only;
}

// nullptr: it can be recorded, and the recorder knows it.
const char* record_shared(Core& recorder, void* pointer, size_t size, size_t offset, Handle handle) {
  const int device = runtime().device_of_memory(handle).value_or(0);
  if (!Core::is_recorded(device)) return kElsewhere;
  int shared = -1;
  if (next::hipMemExportToShareableHandle(&shared, handle, kFileDescriptor, 0) != kSuccess) {
    return "memory mapped by hipMemMap that the runtime does not share with the recorder";
  }
  Fd memory(shared);
  if (!mapped().add(address_of(pointer), memory.get())) return kTwice;
  if (offset != 0) return kMiddle;
  if (!recorder.add_mapped(pointer, size, memory.get(), device))
    return "memory mapped by hipMemMap during a recorded launch";
  return nullptr;
}

const char* note_mapping(void* pointer, size_t size, size_t offset, Handle handle) {
  std::optional<int> device = runtime().device_of_memory(handle);
  std::lock_guard lock(mappings().mutex);
  auto& all = mappings().all;
  bool twice = std::ranges::any_of(all, [&](const auto& entry) { return entry.second.handle == handle; });
  const char* trouble = twice                                   ? kTwice
                        : offset != 0                           ? kMiddle
                        : device && !Core::is_recorded(*device) ? kElsewhere
                                                                : nullptr;
  all[address_of(pointer)] = {size, handle, device.value_or(0), !trouble, false};
  return trouble;
}

// Returns whether there were any.
bool forget_mappings(uint64_t address, size_t size) {
  std::lock_guard lock(mappings().mutex);
  auto& all = mappings().all;
  auto begin = all.lower_bound(address), end = all.lower_bound(address + size);
  const bool some = begin != end;
  all.erase(begin, end);
  return some;
}

Status unreserve(HipRuntime&, const Real& real, void* pointer, size_t) {
  Status status = real();
  if (status == kSuccess) mapped().release(address_of(pointer));
  return status;
}

Status map(HipRuntime& runtime, const Real& real, void* pointer, size_t size, size_t offset, Handle handle, Flags) {
  HipRuntime::Changing changing(runtime);
  Status status = real();
  Core* recorder = runtime.recording();
  if (status != kSuccess || !recorder) return status;
  const char* trouble = runtime.is_stand_in() ? record_shared(*recorder, pointer, size, offset, handle)
                                              : note_mapping(pointer, size, offset, handle);
  if (trouble) recorder->add_outside(pointer, size, trouble);
  return status;
}

Status set_access(HipRuntime& runtime, const Real& real, void* pointer, size_t size, const Access* access,
                  size_t count) {
  HipRuntime::Changing changing(runtime);
  Status status = real();
  Core* recorder = runtime.recording();
  if (status != kSuccess || !recorder || runtime.is_stand_in()) return status;
  bool usable = std::any_of(access, access + count, [](const Access& one) { return one.flags != 0; });
  std::lock_guard lock(mappings().mutex);
  auto& all = mappings().all;
  for (auto at = all.lower_bound(address_of(pointer)); at != all.end() && at->first < address_of(pointer) + size;
       ++at) {
    Mapping& mapping = at->second;
    void* place = reinterpret_cast<void*>(at->first);
    if (!mapping.possible || mapping.recorded == usable) continue;
    mapping.recorded = usable;
    if (!usable) {
      recorder->remove_mapped(place, mapping.size);
    } else if (!recorder->add_mapped(place, mapping.size, -1, mapping.device)) {
      recorder->add_outside(place, mapping.size, "memory mapped by hipMemMap over other memory");
    }
  }
  return status;
}

// A GPU's is forgotten first: nobody may look at it when it is gone.
Status unmap(HipRuntime& runtime, const Real& real, void* pointer, size_t size) {
  HipRuntime::Changing changing(runtime);
  Core* recorder = runtime.recorder();
  if (recorder && !runtime.is_stand_in()) {
    const bool mapped = forget_mappings(address_of(pointer), size);
    if (mapped) recorder->remove_mapped(pointer, size);
    Status status = real();
    if (mapped && status != kSuccess) recorder->add_outside(pointer, size, "memory that hipMemUnmap did not unmap");
    return status;
  }
  Status status = real();
  if (status != kSuccess || !recorder) return status;
  recorder->remove_mapped(pointer, size);
  mapped().remove(address_of(pointer), size);
  return status;
}

}  // namespace

HOOKED Status hipMemAddressReserve(void** pointer, size_t size, size_t alignment, void* wanted, Flags flags) {
  NEXT(hipMemAddressReserve);
  std::optional<uint64_t> place;
  if (runtime().recording() && pointer && !wanted) place = mapped().propose(size, alignment);
  if (place) {
    void* there = reinterpret_cast<void*>(*place);
    Status status = next(pointer, size, alignment, there, flags);
    if (status == kSuccess && *pointer == there) return status;
    mapped().release(*place);
    if (status == kSuccess) return status;
  }
  return next(pointer, size, alignment, wanted, flags);
}

HOOKED Status hipMemCreate(Handle* handle, size_t size, const MemoryPropertiesOf52* properties, Flags flags) {
  NEXT(hipMemCreate);
  // The stand-in's structure is 5.2's; others' is not looked into.
  if (runtime().recording() && runtime().is_stand_in() && properties && properties->handle_type == 0) {
    MemoryPropertiesOf52 shareable = *properties;
    shareable.handle_type = kFileDescriptor;
    if (next(handle, size, &shareable, flags) == kSuccess) return kSuccess;
  }
  return next(handle, size, properties, flags);
}

HOOK(unreserve, hipMemAddressFree, void*, size_t)
HOOK(map, hipMemMap, void*, size_t, size_t, Handle, Flags)
HOOK(set_access, hipMemSetAccess, void*, size_t, const Access*, size_t)
HOOK(unmap, hipMemUnmap, void*, size_t)

}  // namespace mneme::record::hip
