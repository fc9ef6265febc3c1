// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The HIP functions that describe memory, as the application finds them first: of what the recorder gave out, it knows.
#include "memory/listing.h"
#include "recorder/core/memory_hooks.h"
#include "recorder/hip/runtime.h"

namespace mneme::record::hip {

CALL(Status, hipPointerGetAttribute, void*, int, void*)

namespace {

std::optional<Allocations::Known> known(const void* pointer) { return known_to(core(), pointer); }

// What to ask the runtime about instead: to it everything behind the arenas is memory, to the application what is
// allocated there.
template <class Pointer>
Pointer seen_by_the_application(Pointer pointer) {
  Core* recorder = core();
  return recorder && recorder->is_free(pointer) ? nullptr : pointer;
}

memory::ListedMemory listed(const Allocations::Known& known, bool released) {
  using memory::ListedKind;
  ListedKind kind = known.space == Space::kDevice ? ListedKind::kDevice
                    : known.flags & kManaged      ? ListedKind::kManaged
                                                  : ListedKind::kPinned;
  return {known.address, known.size, kind, released};
}

// Managed memory had no type of its own before ROCm 6.
Status type_of(const Allocations::Known& memory, int& type) {
  bool now = false;
  if (Status status = runtime().is_of_6_or_later(now)) return status;
  type = now && memory.flags & kManaged ? kMemoryTypeManagedNow
         : is_host(memory)              ? (now ? kMemoryTypeHostNow : kMemoryTypeHost)
                                        : (now ? kMemoryTypeDeviceNow : kMemoryTypeDevice);
  return kSuccess;
}

template <class T>
bool put(void* data, T value) {
  *static_cast<T*>(data) = value;
  return true;
}

// False: it is for the runtime to answer, as it would of any memory.
bool answer_attribute(void* data, int which, void* pointer, const Allocations::Known& memory) {
  bool managed = memory.flags & kManaged;
  switch (which) {
    case kAttributeDevicePointer:
      return put(data, pointer);
    case kAttributeHostPointer:
      return (is_host(memory) || managed) && put(data, pointer);
    case kAttributeBufferId:
    case kAttributeRangeStart:
      return put(data, memory.address);
    case kAttributeIsManaged:
      return put(data, managed);
    case kAttributeRangeSize:
      return put(data, memory.size);
    case kAttributeDeviceOrdinal:
      return put(data, device_of(memory));
    default:
      return false;
  }
}

Status attribute(void* data, int which, void* pointer) {
  std::optional<Allocations::Known> memory = known(pointer);
  if (memory && data && which == kAttributeMemoryType) return type_of(*memory, *static_cast<int*>(data));
  if (memory && data && answer_attribute(data, which, pointer, *memory)) return kSuccess;
  return next::hipPointerGetAttribute(data, which, seen_by_the_application(pointer));
}

}  // namespace

// memory/listing.h
HOOKED bool mneme_record_list_memory(void (*take)(void* user, const memory::ListedMemory&), void* user) {
  Core* recorder = core();
  if (!recorder) return false;
  Allocations::Listing listing = recorder->list_memory();
  for (const auto& known : listing.live) take(user, listed(known, false));
  for (const auto& known : listing.released) take(user, listed(known, true));
  return true;
}

HOOKED bool mneme_record_find_memory(const void* address, memory::ListedMemory* found) {
  std::optional<Allocations::Known> memory = known(address);
  if (memory) *found = listed(*memory, false);
  return memory.has_value();
}

HOOK(memory_info, hipMemGetInfo, size_t*, size_t*)
HOOK(host_flags, hipHostGetFlags, unsigned*, void*)

HOOKED Status hipHostGetDevicePointer(void** device, void* host, unsigned flags) {
  NEXT(hipHostGetDevicePointer);
  std::optional<Allocations::Known> memory = known(host);
  if (device && flags == 0 && memory && memory->space == Space::kHost) {
    *device = host;  // one address for both, as recorded
    return kSuccess;
  }
  return next(device, host, flags);
}

HOOKED Status hipPointerGetAttributes(PointerAttributes* attributes, const void* pointer) {
  NEXT(hipPointerGetAttributes);
  std::optional<Allocations::Known> memory = known(pointer);
  if (!memory || !attributes) return next(attributes, seen_by_the_application(pointer));
  int type = 0;
  if (Status status = type_of(*memory, type)) return status;
  bool host = is_host(*memory), managed = memory->flags & kManaged;
  void* same = const_cast<void*>(pointer);
  *attributes = {};
  attributes->memory_type = type;
  attributes->device = device_of(*memory);
  attributes->device_pointer = same;
  attributes->host_pointer = host || managed ? same : nullptr;
  attributes->is_managed = managed;
  attributes->flags = static_cast<unsigned>(memory->flags);
  return kSuccess;
}

HOOKED Status hipPointerGetAttribute(void* data, int which, void* pointer) { return attribute(data, which, pointer); }

HOOKED Status hipDrvPointerGetAttributes(unsigned count, int* which, void** data, void* pointer) {
  NEXT(hipDrvPointerGetAttributes);
  if (!known(pointer) || !which || !data) {
    return next(count, which, data, seen_by_the_application(pointer));
  }
  for (unsigned i = 0; i < count; ++i) {
    if (Status status = attribute(data[i], which[i], pointer)) return status;
  }
  return kSuccess;
}

HOOKED Status hipMemGetAddressRange(void** base, size_t* size, void* pointer) {
  NEXT(hipMemGetAddressRange);
  std::optional<Allocations::Known> memory = known(pointer);
  if (!memory) return next(base, size, seen_by_the_application(pointer));
  if (base) *base = reinterpret_cast<void*>(memory->address);
  if (size) *size = memory->size;
  return kSuccess;
}

HOOKED Status hipMemPtrGetInfo(void* pointer, size_t* size) {
  NEXT(hipMemPtrGetInfo);
  std::optional<Allocations::Known> memory = known(pointer);
  if (!memory || !size) return next(seen_by_the_application(pointer), size);
  *size = memory->size;
  return kSuccess;
}

}  // namespace mneme::record::hip
