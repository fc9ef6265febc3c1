// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The HIP functions that give out memory, as the application finds them first. Memory comes from the recorder's arenas;
// what is not from there, and everything in a process that is not recorded, goes to the runtime.
#include "recorder/hip_memory.h"

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
constinit Next<Error(MemoryPool*, int)> next_current_pool(kLibrary, "hipDeviceGetMemPool");
constinit Next<Error(MemoryPool, int, void*)> next_pool_attribute(kLibrary, "hipMemPoolGetAttribute");
constinit Next<Error(void*)> next_free(kLibrary, "hipFree");
constinit Next<Error(void*, Stream)> next_free_async(kLibrary, "hipFreeAsync");
constinit Next<Error(void*)> next_host_free(kLibrary, "hipHostFree");
constinit Next<Error(void*)> next_free_host(kLibrary, "hipFreeHost");
constinit Next<Error(void*, size_t, unsigned)> next_host_register(kLibrary, "hipHostRegister");
constinit Next<Error(void*)> next_host_unregister(kLibrary, "hipHostUnregister");

constexpr size_t kPitch = 256;  // what rows of pitched memory are aligned to

Core* recording_core() {
  Core* recorder = core();
  return recorder && recorder->recording() ? recorder : nullptr;
}

// Memory of a device's from an arena; what does not concern the recorder, an empty or a nonsensical request, is
// `real`'s.
template <class Real>
Error give_on(int device, void** pointer, size_t size, Space space, uint64_t flags, const Real& real) {
  Core* recorder = recording_core();
  if (!recorder || !pointer || size == 0) return real();
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

// The calling thread's device.
template <class Real>
Error give(void** pointer, size_t size, Space space, uint64_t flags, const Real& real) {
  Core* recorder = recording_core();
  return recorder ? give_on(recorder->device(), pointer, size, space, flags, real) : real();
}

// `pool` is one of the runtime's, which will be told how much of it is in use.
template <class Real>
Error give_from_pool(MemoryPool pool, int device, void** pointer, size_t size, const Real& real) {
  Error status = give_on(device, pointer, size, Space::kDevice, 0, real);
  if (Core* recorder = core(); recorder && status == kSuccess && recorder->find(*pointer)) {
    recorder->pools().add(pool, reinterpret_cast<uint64_t>(*pointer), size);
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

Error hipMalloc(void** pointer, size_t size) {
  return give(pointer, size, Space::kDevice, 0, [&] { return next_malloc.call_or(kNotSupported, pointer, size); });
}

Error hipExtMallocWithFlags(void** pointer, size_t size, unsigned flags) {
  return give(pointer, size, Space::kDevice, flags,
              [&] { return next_ext_malloc.call_or(kNotSupported, pointer, size, flags); });
}

Error hipMallocAsync(void** pointer, size_t size, Stream stream) {
  auto real = [&] { return next_malloc_async.call_or(kNotSupported, pointer, size, stream); };
  Core* recorder = recording_core();
  MemoryPool pool = nullptr;
  if (!recorder || next_current_pool.call_or(kNotSupported, &pool, recorder->device()) != kSuccess) {
    return give(pointer, size, Space::kDevice, 0, real);
  }
  return give_from_pool(pool, recorder->device(), pointer, size, real);
}

Error hipMallocFromPoolAsync(void** pointer, size_t size, MemoryPool pool, Stream stream) {
  auto real = [&] { return next_malloc_pool.call_or(kNotSupported, pointer, size, pool, stream); };
  Core* recorder = recording_core();
  uint64_t used = 0;
  // Whether it is a pool is the runtime's to say.
  if (!recorder || !pool || next_pool_attribute.call_or(kNotSupported, pool, kPoolUsed, &used) != kSuccess) {
    return real();
  }
  return give_from_pool(pool, recorder->pools().device_of(pool).value_or(recorder->device()), pointer, size, real);
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

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::hip
