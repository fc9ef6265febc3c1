// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The HIP functions that give out and describe memory, as the application finds them first. Memory comes from the
// recorder's arenas; what is not from there, and everything in a process that is not recorded, goes to the runtime.
#include "memory/listing.h"
#include "recorder/hip_runtime.h"

namespace mneme::record::hip {
namespace {

constinit Next<Error(void**, size_t)> next_malloc(kLibrary, "hipMalloc");
constinit Next<Error(void**, size_t, unsigned)> next_ext_malloc(kLibrary, "hipExtMallocWithFlags");
constinit Next<Error(void**, size_t, Stream)> next_malloc_async(kLibrary, "hipMallocAsync");
constinit Next<Error(void**, size_t, MemoryPool, Stream)> next_malloc_pool(kLibrary, "hipMallocFromPoolAsync");
constinit Next<Error(void**, size_t*, size_t, size_t)> next_malloc_pitch(kLibrary, "hipMallocPitch");
constinit Next<Error(void**, size_t*, size_t, size_t, unsigned)> next_mem_alloc_pitch(kLibrary, "hipMemAllocPitch");
constinit Next<Error(PitchedPointer*, Extent)> next_malloc_3d(kLibrary, "hipMalloc3D");
constinit Next<Error(void**, size_t, unsigned)> next_malloc_managed(kLibrary, "hipMallocManaged");
constinit Next<Error(void**, size_t, unsigned)> next_host_malloc(kLibrary, "hipHostMalloc");
constinit Next<Error(void**, size_t, unsigned)> next_host_alloc(kLibrary, "hipHostAlloc");
constinit Next<Error(void**, size_t)> next_malloc_host(kLibrary, "hipMallocHost");
constinit Next<Error(void**, size_t)> next_mem_alloc_host(kLibrary, "hipMemAllocHost");
constinit Next<Error(void*)> next_free(kLibrary, "hipFree");
constinit Next<Error(void*, Stream)> next_free_async(kLibrary, "hipFreeAsync");
constinit Next<Error(void*)> next_host_free(kLibrary, "hipHostFree");
constinit Next<Error(void*)> next_free_host(kLibrary, "hipFreeHost");
constinit Next<Error(void*, size_t, unsigned)> next_host_register(kLibrary, "hipHostRegister");
constinit Next<Error(void*)> next_host_unregister(kLibrary, "hipHostUnregister");
constinit Next<Error(void**, void*, unsigned)> next_device_pointer(kLibrary, "hipHostGetDevicePointer");
constinit Next<Error(unsigned*, void*)> next_host_flags(kLibrary, "hipHostGetFlags");
constinit Next<Error(PointerAttributes*, const void*)> next_attributes(kLibrary, "hipPointerGetAttributes");
constinit Next<Error(void*, int, void*)> next_attribute(kLibrary, "hipPointerGetAttribute");
constinit Next<Error(unsigned, int*, void**, void*)> next_attribute_list(kLibrary, "hipDrvPointerGetAttributes");
constinit Next<Error(void**, size_t*, void*)> next_address_range(kLibrary, "hipMemGetAddressRange");
constinit Next<Error(void*, size_t*)> next_pointer_info(kLibrary, "hipMemPtrGetInfo");

constexpr uint64_t kManaged = uint64_t{1} << 32;  // beside the application's own flags
constexpr unsigned kDeviceShift = 33;
constexpr size_t kPitch = 256;  // what rows of pitched memory are aligned to

// Memory from an arena; what does not concern the recorder, an empty or a nonsensical request, is `real`'s.
template <class Real>
Error give(void** pointer, size_t size, Space space, uint64_t flags, const Real& real) {
  Core* recorder = core();
  if (!recorder || !recorder->recording() || !pointer || size == 0) return real();
  const int device = recorder->device();
  const bool here = Core::is_recorded(device);
  // Host memory's is kept with its flags.
  if (space == Space::kHost) flags |= static_cast<uint64_t>(device) << kDeviceShift;
  if (void* memory = here ? recorder->allocate(space, size, flags, device) : nullptr) {
    *pointer = memory;
    return kSuccess;
  }
  // Out of memory, here or altogether: the runtime says which, and sets the application's last error.
  Error status = real();
  if (status == kSuccess) {
    recorder->add_outside(*pointer, size,
                          here ? "memory for which the range of recorded addresses had no room (--va-size)"
                               : "memory that was allocated on device " + std::to_string(device));
  }
  return status;
}

// By the runtime, of what it gave out itself.
template <class Real>
Error take_outside_back(void* pointer, const Real& real) {
  Error status = real();
  if (Core* recorder = core(); recorder && status == kSuccess) recorder->remove_outside(pointer);
  return status;
}

// Rows of `width` bytes, each at a multiple of kPitch. False: the size does not fit a number.
bool rows(size_t width, size_t height, size_t depth, size_t& pitch, size_t& size) {
  size_t padded = 0;
  if (__builtin_add_overflow(width, kPitch - 1, &padded)) return false;
  pitch = padded / kPitch * kPitch;
  return !__builtin_mul_overflow(pitch, height, &size) && !__builtin_mul_overflow(size, depth, &size);
}

template <class Real>
Error give_rows(void** pointer, size_t* pitch, size_t width, size_t height, const Real& real) {
  size_t padded = 0, size = 0;
  if (!pitch || !rows(width, height, 1, padded, size)) return real();
  size_t untouched = *pitch;
  *pitch = padded;
  return give(pointer, size, Space::kDevice, 0, [&] {
    *pitch = untouched;
    return real();
  });
}

std::optional<Allocations::Known> known(const void* pointer) {
  Core* recorder = core();
  return recorder && pointer ? recorder->find(pointer) : std::nullopt;
}

// What to ask the runtime about instead: to it everything behind the arenas is memory, to the application what is
// allocated there.
template <class Pointer>
Pointer seen_by_the_application(Pointer pointer) {
  Core* recorder = core();
  return recorder && recorder->is_free(pointer) ? nullptr : pointer;
}

int device_of(const Allocations::Known& memory) {
  return memory.space == Space::kDevice ? memory.device : static_cast<int>(memory.flags >> kDeviceShift);
}

bool is_host(const Allocations::Known& memory) { return memory.space == Space::kHost && !(memory.flags & kManaged); }

template <class T>
bool put(void* data, T value) {
  *static_cast<T*>(data) = value;
  return true;
}

// False: it is for the runtime to answer, as it would of any memory.
bool answer_attribute(void* data, int which, void* pointer, const Allocations::Known& memory) {
  bool managed = memory.flags & kManaged;
  switch (which) {
    case kAttributeMemoryType:
      return put(data, is_host(memory) ? kMemoryTypeHost : kMemoryTypeDevice);
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
  if (memory && data && answer_attribute(data, which, pointer, *memory)) return kSuccess;
  return next_attribute.call_or(kNotSupported, data, which, seen_by_the_application(pointer));
}

template <class Real>
Error take_back(void* pointer, bool host, Core::Wait wait, Stream stream, const Real& real) {
  std::optional<Allocations::Known> memory = known(pointer);
  if (!memory || is_host(*memory) != host) return take_outside_back(pointer, real);
  std::optional<int> status = core()->release(pointer, wait, stream);
  return status ? *status : real();
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// memory/listing.h
bool mneme_record_list_memory(void (*take)(void* user, const memory::ListedMemory&), void* user) {
  Core* recorder = core();
  if (!recorder) return false;
  auto give_one = [&](const Allocations::Known& known, bool released) {
    using memory::ListedKind;
    take(user, {known.address, known.size,
                known.space == Space::kDevice ? ListedKind::kDevice
                : known.flags & kManaged      ? ListedKind::kManaged
                                              : ListedKind::kPinned,
                released});
  };
  Allocations::Listing listing = recorder->list_memory();
  for (const auto& known : listing.live) give_one(known, false);
  for (const auto& known : listing.released) give_one(known, true);
  return true;
}

Error hipMalloc(void** pointer, size_t size) {
  return give(pointer, size, Space::kDevice, 0, [&] { return next_malloc.call_or(kNotSupported, pointer, size); });
}

Error hipExtMallocWithFlags(void** pointer, size_t size, unsigned flags) {
  return give(pointer, size, Space::kDevice, flags,
              [&] { return next_ext_malloc.call_or(kNotSupported, pointer, size, flags); });
}

Error hipMallocAsync(void** pointer, size_t size, Stream stream) {
  return give(pointer, size, Space::kDevice, 0,
              [&] { return next_malloc_async.call_or(kNotSupported, pointer, size, stream); });
}

Error hipMallocFromPoolAsync(void** pointer, size_t size, MemoryPool pool, Stream stream) {
  return give(pointer, size, Space::kDevice, 0,
              [&] { return next_malloc_pool.call_or(kNotSupported, pointer, size, pool, stream); });
}

Error hipMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  return give_rows(pointer, pitch, width, height,
                   [&] { return next_malloc_pitch.call_or(kNotSupported, pointer, pitch, width, height); });
}

Error hipMemAllocPitch(void** pointer, size_t* pitch, size_t width, size_t height, unsigned element) {
  auto real = [&] { return next_mem_alloc_pitch.call_or(kNotSupported, pointer, pitch, width, height, element); };
  if (element != 4 && element != 8 && element != 16) return real();
  return give_rows(pointer, pitch, width, height, real);
}

Error hipMalloc3D(PitchedPointer* pitched, Extent extent) {
  auto real = [&] { return next_malloc_3d.call_or(kNotSupported, pitched, extent); };
  size_t pitch = 0, size = 0;
  if (!pitched || !rows(extent.width, extent.height, extent.depth, pitch, size)) return real();
  void* memory = nullptr;
  bool ours = true;
  Error status = give(&memory, size, Space::kDevice, 0, [&] {
    ours = false;
    Error status = real();
    if (status == kSuccess) memory = pitched->ptr;
    return status;
  });
  if (ours) *pitched = {memory, pitch, extent.width, extent.height};
  return status;
}

Error hipMallocManaged(void** pointer, size_t size, unsigned flags) {
  return give(pointer, size, Space::kHost, flags | kManaged,
              [&] { return next_malloc_managed.call_or(kNotSupported, pointer, size, flags); });
}

Error hipHostMalloc(void** pointer, size_t size, unsigned flags) {
  return give(pointer, size, Space::kHost, flags,
              [&] { return next_host_malloc.call_or(kNotSupported, pointer, size, flags); });
}

Error hipHostAlloc(void** pointer, size_t size, unsigned flags) {
  return give(pointer, size, Space::kHost, flags,
              [&] { return next_host_alloc.call_or(kNotSupported, pointer, size, flags); });
}

Error hipMallocHost(void** pointer, size_t size) {
  return give(pointer, size, Space::kHost, 0, [&] { return next_malloc_host.call_or(kNotSupported, pointer, size); });
}

Error hipMemAllocHost(void** pointer, size_t size) {
  return give(pointer, size, Space::kHost, 0,
              [&] { return next_mem_alloc_host.call_or(kNotSupported, pointer, size); });
}

Error hipFree(void* pointer) {
  return take_back(pointer, false, Core::Wait::kWholeDevice, nullptr,
                   [&] { return next_free.call_or(kNotSupported, pointer); });
}

Error hipFreeAsync(void* pointer, Stream stream) {
  return take_back(pointer, false, Core::Wait::kStream, stream,
                   [&] { return next_free_async.call_or(kNotSupported, pointer, stream); });
}

Error hipHostFree(void* pointer) {
  return take_back(pointer, true, Core::Wait::kWholeDevice, nullptr,
                   [&] { return next_host_free.call_or(kNotSupported, pointer); });
}

Error hipFreeHost(void* pointer) {
  return take_back(pointer, true, Core::Wait::kWholeDevice, nullptr,
                   [&] { return next_free_host.call_or(kNotSupported, pointer); });
}

Error hipHostRegister(void* pointer, size_t size, unsigned flags) {
  Error status = next_host_register.call_or(kNotSupported, pointer, size, flags);
  if (Core* recorder = core(); recorder && status == kSuccess) recorder->add_registered(pointer, size);
  return status;
}

Error hipHostUnregister(void* pointer) {
  if (Core* recorder = core()) recorder->remove_registered(pointer);
  return next_host_unregister.call_or(kNotSupported, pointer);
}

Error hipHostGetDevicePointer(void** device, void* host, unsigned flags) {
  if (device && known(host)) {
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
  bool host = is_host(*memory), managed = memory->flags & kManaged;
  void* same = const_cast<void*>(pointer);
  *attributes = {};
  attributes->memory_type = host ? kMemoryTypeHost : kMemoryTypeDevice;
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
