// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The HIP functions that give out memory, as the application finds them first. Memory comes from the recorder's arenas;
// what is not from there, and everything in a process that is not recorded, goes to the runtime.
#include "recorder/core/memory_hooks.h"
#include "recorder/hip/runtime.h"

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
constinit Next<Error(Stream, unsigned*)> next_stream_flags(kLibrary, "hipStreamGetFlags");
constinit Next<Error(void*)> next_free(kLibrary, "hipFree");
constinit Next<Error(void*, Stream)> next_free_async(kLibrary, "hipFreeAsync");
constinit Next<Error(void*)> next_host_free(kLibrary, "hipHostFree");
constinit Next<Error(void*)> next_free_host(kLibrary, "hipFreeHost");
constinit Next<Error(void*, size_t, unsigned)> next_host_register(kLibrary, "hipHostRegister");
constinit Next<Error(void*)> next_host_unregister(kLibrary, "hipHostUnregister");

constexpr size_t kRowAlign = 256;

// What the runtime would refuse it is asked for, and refuses.
bool are_host_flags(unsigned flags) { return (flags & ~0xE0000007u) == 0; }
bool are_managed_flags(unsigned flags) { return flags == 1 || flags == 2; }

bool is_stream(Stream stream) {
  unsigned flags = 0;
  return !stream || next_stream_flags.call_or(kNotSupported, stream, &flags) == kSuccess;
}

Core* recording_core() {
  Core* recorder = first_recorder();
  return recorder && recorder->recording() ? recorder : nullptr;
}

// `pool` is one of the runtime's, which will be told how much of it is in use.
template <class Real>
Error give_from_pool(MemoryPool pool, Stream stream, int device, void** pointer, size_t size, const Real& real) {
  Error status = give_in(core(), stream, device, pointer, size, real);
  if (Core* recorder = core(); recorder && status == kSuccess && recorder->find(*pointer)) {
    recorder->pools().add(pool, reinterpret_cast<uint64_t>(*pointer), size);
  }
  return status;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

Error hipMalloc(void** pointer, size_t size) {
  return give(first_recorder(), pointer, size, Space::kDevice, 0,
              [&] { return next_malloc.call_or(kNotSupported, pointer, size); });
}

Error hipExtMallocWithFlags(void** pointer, size_t size, unsigned flags) {
  return give(first_recorder(), pointer, size, Space::kDevice, flags,
              [&] { return next_ext_malloc.call_or(kNotSupported, pointer, size, flags); });
}

Error hipMallocAsync(void** pointer, size_t size, Stream stream) {
  auto real = [&] { return next_malloc_async.call_or(kNotSupported, pointer, size, stream); };
  Core* recorder = recording_core();
  MemoryPool pool = nullptr;
  if (!is_stream(stream)) return real();
  if (!recorder || next_current_pool.call_or(kNotSupported, &pool, recorder->device()) != kSuccess) {
    return give(first_recorder(), pointer, size, Space::kDevice, 0, real);
  }
  return give_from_pool(pool, stream, recorder->device(), pointer, size, real);
}

Error hipMallocFromPoolAsync(void** pointer, size_t size, MemoryPool pool, Stream stream) {
  auto real = [&] { return next_malloc_pool.call_or(kNotSupported, pointer, size, pool, stream); };
  Core* recorder = recording_core();
  uint64_t used = 0;
  // Whether it is a pool is the runtime's to say.
  if (!recorder || !pool || !is_stream(stream) ||
      next_pool_attribute.call_or(kNotSupported, pool, kPoolUsed, &used) != kSuccess) {
    return real();
  }
  return give_from_pool(pool, stream, recorder->pools().device_of(pool).value_or(recorder->device()), pointer, size,
                        real);
}

Error hipMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  return give_rows(first_recorder(), kRowAlign, pointer, pitch, width, height,
                   [&] { return next_malloc_pitch.call_or(kNotSupported, pointer, pitch, width, height); });
}

Error hipMemAllocPitch(void** pointer, size_t* pitch, size_t width, size_t height, unsigned element) {
  auto real = [&] { return next_mem_alloc_pitch.call_or(kNotSupported, pointer, pitch, width, height, element); };
  if (element != 4 && element != 8 && element != 16) return real();
  return give_rows(first_recorder(), kRowAlign, pointer, pitch, width, height, real);
}

Error hipMalloc3D(PitchedPointer* pitched, Extent extent) {
  auto real = [&] { return next_malloc_3d.call_or(kNotSupported, pitched, extent); };
  return give_box(first_recorder(), kRowAlign, pitched, extent, real);
}

Error hipMallocManaged(void** pointer, size_t size, unsigned flags) {
  auto real = [&] { return next_malloc_managed.call_or(kNotSupported, pointer, size, flags); };
  return are_managed_flags(flags) ? give(first_recorder(), pointer, size, Space::kHost, flags | kManaged, real)
                                  : real();
}

Error hipHostMalloc(void** pointer, size_t size, unsigned flags) {
  auto real = [&] { return next_host_malloc.call_or(kNotSupported, pointer, size, flags); };
  return are_host_flags(flags) ? give(first_recorder(), pointer, size, Space::kHost, flags, real) : real();
}

Error hipHostAlloc(void** pointer, size_t size, unsigned flags) {
  auto real = [&] { return next_host_alloc.call_or(kNotSupported, pointer, size, flags); };
  return are_host_flags(flags) ? give(first_recorder(), pointer, size, Space::kHost, flags, real) : real();
}

Error hipMallocHost(void** pointer, size_t size) {
  return give(first_recorder(), pointer, size, Space::kHost, 0,
              [&] { return next_malloc_host.call_or(kNotSupported, pointer, size); });
}

Error hipMemAllocHost(void** pointer, size_t size) {
  return give(first_recorder(), pointer, size, Space::kHost, 0,
              [&] { return next_mem_alloc_host.call_or(kNotSupported, pointer, size); });
}

Error hipFree(void* pointer) {
  return take_back(core(), pointer, false, [&] { return next_free.call_or(kNotSupported, pointer); });
}

Error hipFreeAsync(void* pointer, Stream stream) {
  // A graph that is noted down goes on using it, each time that it is launched: it stays.
  std::optional<Allocations::Known> known = known_to(core(), pointer);
  if (known && !is_host(*known) && known->address == reinterpret_cast<uint64_t>(pointer) &&
      runtime().notes_down(stream)) {
    return kSuccess;
  }
  return take_back_in(core(), stream, pointer, [&] { return next_free_async.call_or(kNotSupported, pointer, stream); });
}

Error hipHostFree(void* pointer) {
  return take_back(core(), pointer, true, [&] { return next_host_free.call_or(kNotSupported, pointer); });
}

Error hipFreeHost(void* pointer) {
  return take_back(core(), pointer, true, [&] { return next_free_host.call_or(kNotSupported, pointer); });
}

Error hipHostRegister(void* pointer, size_t size, unsigned flags) {
  Error status = next_host_register.call_or(kNotSupported, pointer, size, flags);
  if (Core* recorder = first_recorder(); recorder && status == kSuccess) recorder->add_registered(pointer, size);
  return status;
}

Error hipHostUnregister(void* pointer) {
  return unregister(core(), pointer, [](void* own) { return next_host_unregister.call_or(kNotSupported, own); });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::hip
