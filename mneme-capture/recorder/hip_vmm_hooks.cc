// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// HIP's virtual memory functions, as the application finds them first. Memory stays the runtime's: it is made such that
// it can be shared with the parent, and lies where it lies in every process.
#include "recorder/hip_runtime.h"
#include "recorder/mapped_memory.h"

namespace mneme::record::hip {
namespace {

constinit Next<Error(void**, size_t, size_t, void*, unsigned long long)> next_reserve(kLibrary, "hipMemAddressReserve");
constinit Next<Error(void*, size_t)> next_unreserve(kLibrary, "hipMemAddressFree");
constinit Next<Error(Handle*, size_t, const MemoryProperties*, unsigned long long)> next_create(kLibrary,
                                                                                                "hipMemCreate");
constinit Next<Error(void*, size_t, size_t, Handle, unsigned long long)> next_map(kLibrary, "hipMemMap");
constinit Next<Error(void*, size_t)> next_unmap(kLibrary, "hipMemUnmap");
constinit Next<Error(void*, Handle, int, unsigned long long)> next_export(kLibrary, "hipMemExportToShareableHandle");
constinit Next<Error(MemoryProperties*, Handle)> next_properties(kLibrary, "hipMemGetAllocationPropertiesFromHandle");

// Never destroyed: applications call HIP from destructors that run last.
MappedMemory& mapped() {
  static auto* only = new MappedMemory;
  return *only;
}

uint64_t address_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

Core* recording_core() {
  Core* recorder = core();
  return recorder && recorder->recording() ? recorder : nullptr;
}

// nullptr: it can be recorded, and the recorder knows it.
const char* record_mapping(Core& recorder, void* pointer, size_t size, size_t offset, Handle handle) {
  MemoryProperties properties{};
  bool known = next_properties.call_or(kNotSupported, &properties, handle) == kSuccess;
  const int device = known ? properties.location.id : 0;
  if (!Core::is_recorded(device)) {
    return "memory mapped by hipMemMap on a device that is not recorded";
  }
  int shared = -1;
  if (next_export.call_or(kNotSupported, &shared, handle, kFileDescriptor, 0) != kSuccess) {
    return "memory mapped by hipMemMap that the runtime does not share with the recorder";
  }
  Fd memory(shared);
  if (!mapped().add(address_of(pointer), memory.get())) return "memory that hipMemMap mapped at two addresses";
  if (offset != 0) return "memory that hipMemMap mapped from its middle on";
  if (!recorder.add_mapped(pointer, size, memory.get(), device))
    return "memory mapped by hipMemMap during a recorded launch";
  return nullptr;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

Error hipMemAddressReserve(void** pointer, size_t size, size_t alignment, void* wanted, unsigned long long flags) {
  std::optional<uint64_t> place;
  if (recording_core() && pointer && !wanted) place = mapped().propose(size, alignment);
  if (place) {
    void* there = reinterpret_cast<void*>(*place);
    Error status = next_reserve.call_or(kNotSupported, pointer, size, alignment, there, flags);
    if (status == kSuccess && *pointer == there) return status;
    mapped().release(*place);
    if (status == kSuccess) return status;
  }
  return next_reserve.call_or(kNotSupported, pointer, size, alignment, wanted, flags);
}

Error hipMemAddressFree(void* pointer, size_t size) {
  Error status = next_unreserve.call_or(kNotSupported, pointer, size);
  if (status == kSuccess) mapped().release(address_of(pointer));
  return status;
}

Error hipMemCreate(Handle* handle, size_t size, const MemoryProperties* properties, unsigned long long flags) {
  if (recording_core() && properties && properties->requested_handle_type == 0) {
    MemoryProperties shareable = *properties;
    shareable.requested_handle_type = kFileDescriptor;
    if (next_create.call_or(kNotSupported, handle, size, &shareable, flags) == kSuccess) return kSuccess;
  }
  return next_create.call_or(kNotSupported, handle, size, properties, flags);
}

Error hipMemMap(void* pointer, size_t size, size_t offset, Handle handle, unsigned long long flags) {
  Error status = next_map.call_or(kNotSupported, pointer, size, offset, handle, flags);
  Core* recorder = recording_core();
  if (status != kSuccess || !recorder) return status;
  if (const char* trouble = record_mapping(*recorder, pointer, size, offset, handle)) {
    recorder->add_outside(pointer, size, trouble);
  }
  return status;
}

Error hipMemUnmap(void* pointer, size_t size) {
  Error status = next_unmap.call_or(kNotSupported, pointer, size);
  Core* recorder = core();
  if (status != kSuccess || !recorder) return status;
  recorder->remove_mapped(pointer, size);
  mapped().remove(address_of(pointer), size);
  return status;
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::hip
