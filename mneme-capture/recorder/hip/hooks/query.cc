// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The HIP functions that describe memory, as the application finds them first: of what the recorder gave out, it knows.
#include "memory/listing.h"
#include "recorder/core/memory_hooks.h"
#include "recorder/hip/runtime.h"

namespace mneme::record::hip {
namespace {

constinit Next<Error(size_t*, size_t*)> next_memory_info(kLibrary, "hipMemGetInfo");
constinit Next<Error(unsigned*, void*)> next_host_flags(kLibrary, "hipHostGetFlags");
constinit Next<Error(PointerAttributes*, const void*)> next_attributes(kLibrary, "hipPointerGetAttributes");
constinit Next<Error(void*, int, void*)> next_attribute(kLibrary, "hipPointerGetAttribute");
constinit Next<Error(unsigned, int*, void**, void*)> next_attribute_list(kLibrary, "hipDrvPointerGetAttributes");
constinit Next<Error(void**, size_t*, void*)> next_address_range(kLibrary, "hipMemGetAddressRange");
constinit Next<Error(void*, size_t*)> next_pointer_info(kLibrary, "hipMemPtrGetInfo");
constinit Next<Error(void**, void*, unsigned)> next_device_pointer(kLibrary, "hipHostGetDevicePointer");

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
Error type_of(const Allocations::Known& memory, int& type) {
  bool now = false;
  if (Error status = runtime().is_of_6_or_later(now)) return status;
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

Error attribute(void* data, int which, void* pointer) {
  std::optional<Allocations::Known> memory = known(pointer);
  if (memory && data && which == kAttributeMemoryType) return type_of(*memory, *static_cast<int*>(data));
  if (memory && data && answer_attribute(data, which, pointer, *memory)) return kSuccess;
  return next_attribute.call_or(kNotSupported, data, which, seen_by_the_application(pointer));
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// memory/listing.h
bool mneme_record_list_memory(void (*take)(void* user, const memory::ListedMemory&), void* user) {
  Core* recorder = core();
  if (!recorder) return false;
  Allocations::Listing listing = recorder->list_memory();
  for (const auto& known : listing.live) take(user, listed(known, false));
  for (const auto& known : listing.released) take(user, listed(known, true));
  return true;
}

bool mneme_record_find_memory(const void* address, memory::ListedMemory* found) {
  std::optional<Allocations::Known> memory = known(address);
  if (memory) *found = listed(*memory, false);
  return memory.has_value();
}

// To the runtime all that lies behind the arenas is in use; to the application, what is allocated there.
Error hipMemGetInfo(size_t* left, size_t* total) {
  Error status = next_memory_info.call_or(kNotSupported, left, total);
  Core* recorder = core();
  if (recorder && status == kSuccess && left) *left += recorder->unused_memory(recorder->device());
  return status;
}

Error hipHostGetDevicePointer(void** device, void* host, unsigned flags) {
  std::optional<Allocations::Known> memory = known(host);
  if (device && flags == 0 && memory && memory->space == Space::kHost) {
    *device = host;  // one address for both, as recorded
    return kSuccess;
  }
  return next_device_pointer.call_or(kNotSupported, device, host, flags);
}

Error hipHostGetFlags(unsigned* flags, void* host) {
  std::optional<Allocations::Known> memory = known(host);
  if (!memory || !flags || !is_host(*memory)) return next_host_flags.call_or(kNotSupported, flags, host);
  *flags = static_cast<unsigned>(memory->flags);
  return kSuccess;
}

Error hipPointerGetAttributes(PointerAttributes* attributes, const void* pointer) {
  std::optional<Allocations::Known> memory = known(pointer);
  if (!memory || !attributes)
    return next_attributes.call_or(kNotSupported, attributes, seen_by_the_application(pointer));
  int type = 0;
  if (Error status = type_of(*memory, type)) return status;
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

Error hipPointerGetAttribute(void* data, int which, void* pointer) { return attribute(data, which, pointer); }

Error hipDrvPointerGetAttributes(unsigned count, int* which, void** data, void* pointer) {
  if (!known(pointer) || !which || !data) {
    return next_attribute_list.call_or(kNotSupported, count, which, data, seen_by_the_application(pointer));
  }
  for (unsigned i = 0; i < count; ++i) {
    if (Error status = attribute(data[i], which[i], pointer)) return status;
  }
  return kSuccess;
}

Error hipMemGetAddressRange(void** base, size_t* size, void* pointer) {
  std::optional<Allocations::Known> memory = known(pointer);
  if (!memory) return next_address_range.call_or(kNotSupported, base, size, seen_by_the_application(pointer));
  if (base) *base = reinterpret_cast<void*>(memory->address);
  if (size) *size = memory->size;
  return kSuccess;
}

Error hipMemPtrGetInfo(void* pointer, size_t* size) {
  std::optional<Allocations::Known> memory = known(pointer);
  if (!memory || !size) return next_pointer_info.call_or(kNotSupported, seen_by_the_application(pointer), size);
  *size = memory->size;
  return kSuccess;
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::hip
