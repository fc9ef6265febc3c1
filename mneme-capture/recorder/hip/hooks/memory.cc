// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The HIP functions that allocate memory, and queries of memory pools, whose answers count the recorder's memory.
#include "recorder/core/memory_hooks.h"
#include "recorder/hip/runtime.h"

namespace mneme::record::hip {

CALL(Status, hipStreamGetFlags, Stream, unsigned*)

namespace {

// What the runtime would refuse it is asked for, and refuses.
Status give_flagged(HipRuntime& runtime, const Real& real, void** pointer, size_t size, unsigned flags) {
  return flags & ~0xE0000007u ? real() : record::give_flagged(runtime, real, pointer, size, flags);
}
Status give_managed(HipRuntime& runtime, const Real& real, void** pointer, size_t size, unsigned flags) {
  return flags == 1 || flags == 2 ? record::give_managed(runtime, real, pointer, size, flags) : real();
}
Status give_elements(HipRuntime& runtime, const Real& real, void** pointer, size_t* pitch, size_t width, size_t height,
                     unsigned element) {
  if (element != 4 && element != 8 && element != 16) return real();
  return give_rows(runtime, real, pointer, pitch, width, height);
}
Status give_with(HipRuntime& runtime, const Real& real, void** pointer, size_t size, unsigned flags) {
  return give(runtime, real, pointer, size, Space::kDevice, flags);
}

bool is_stream(Stream stream) {
  unsigned flags = 0;
  return !stream || next::hipStreamGetFlags(stream, &flags) == kSuccess;
}

Status take_async(HipRuntime& runtime, const Real& real, void* pointer, Stream stream) {
  // A graph that is noted down goes on using it, each time that it is launched: it stays.
  std::optional<Allocations::Known> known = known_to(runtime.recorder(), pointer);
  if (known && !is_host(*known) && known->address == reinterpret_cast<uint64_t>(pointer) &&
      runtime.notes_down(stream)) {
    return kSuccess;
  }
  return take_back_in(runtime.recorder(), stream, pointer, real);
}

Status create_pool(HipRuntime& runtime, const Real& real, MemoryPool* pool, const PoolProperties* properties) {
  const Status status = real();
  if (status != kSuccess || properties->location.type != kLocationDevice) return status;
  if (Core* core = runtime.first_recorder()) core->pools().set_device(*pool, properties->location.id);
  return status;
}

Status destroy_pool(HipRuntime& runtime, const Real& real, MemoryPool pool) {
  const Status status = real();
  if (Core* core = runtime.recorder(); core && status == kSuccess) core->pools().destroyed(pool);
  return status;
}

Status get_pool(HipRuntime& runtime, const Real& real, MemoryPool* pool, int device) {
  const Status status = real();
  Core* core = status == kSuccess ? runtime.first_recorder() : nullptr;
  if (core) core->pools().set_device(*pool, device);
  return status;
}

Status get_pool_attribute(HipRuntime& runtime, const Real& real, MemoryPool pool, int which, void* value) {
  const Status status = real();
  Core* core = runtime.recorder();
  if (!core || status != kSuccess || which < kPoolReserved || which > kPoolUsedMost) return status;
  PoolUse::Sums ours = core->pools().of(pool);
  *static_cast<uint64_t*>(value) += which == kPoolReserved || which == kPoolUsed ? ours.now : ours.most;
  return status;
}

Status set_pool_attribute(HipRuntime& runtime, const Real& real, MemoryPool pool, int which, void*) {
  const Status status = real();
  Core* core = runtime.recorder();
  const bool most = which == kPoolReservedMost || which == kPoolUsedMost;
  if (core && status == kSuccess && most) core->pools().forget_most(pool);
  return status;
}

}  // namespace

HOOK(create_pool, hipMemPoolCreate, MemoryPool*, const PoolProperties*)
HOOK(destroy_pool, hipMemPoolDestroy, MemoryPool)
HOOK(get_pool, hipDeviceGetDefaultMemPool, MemoryPool*, int)
HOOK(get_pool, hipDeviceGetMemPool, MemoryPool*, int)
HOOK(get_pool_attribute, hipMemPoolGetAttribute, MemoryPool, int, void*)
HOOK(set_pool_attribute, hipMemPoolSetAttribute, MemoryPool, int, void*)

namespace {

// (These call functions of rows above.) `pool` is one of the runtime's, which will be told how much of it is in use.
Status give_of_pool(MemoryPool pool, Stream stream, int device, void** pointer, size_t size, const Real& real) {
  const Status status = give_in(core(), stream, device, pointer, size, real);
  if (Core* recorder = core(); recorder && status == kSuccess && recorder->find(*pointer)) {
    recorder->pools().add(pool, reinterpret_cast<uint64_t>(*pointer), size);
  }
  return status;
}

Status give_async(HipRuntime& runtime, const Real& real, void** pointer, size_t size, Stream stream) {
  if (!is_stream(stream)) return real();
  Core* core = runtime.recording();
  MemoryPool pool = nullptr;
  if (!core || next::hipDeviceGetMemPool(&pool, core->device()) != kSuccess) {
    return give_device(runtime, real, pointer, size);
  }
  return give_of_pool(pool, stream, core->device(), pointer, size, real);
}

Status give_from_pool(HipRuntime& runtime, const Real& real, void** pointer, size_t size, MemoryPool pool,
                      Stream stream) {
  Core* core = runtime.recording();
  uint64_t used = 0;
  // Whether it is a pool is the runtime's to say.
  if (!core || !pool || !is_stream(stream) || next::hipMemPoolGetAttribute(pool, kPoolUsed, &used) != kSuccess) {
    return real();
  }
  return give_of_pool(pool, stream, core->pools().device_of(pool).value_or(core->device()), pointer, size, real);
}

}  // namespace

HOOK(give_device, hipMalloc, void**, size_t)
HOOK(give_with, hipExtMallocWithFlags, void**, size_t, unsigned)
HOOK(give_async, hipMallocAsync, void**, size_t, Stream)
HOOK(give_from_pool, hipMallocFromPoolAsync, void**, size_t, MemoryPool, Stream)
HOOK(give_rows, hipMallocPitch, void**, size_t*, size_t, size_t)
HOOK(give_elements, hipMemAllocPitch, void**, size_t*, size_t, size_t, unsigned)
HOOK(give_box, hipMalloc3D, PitchedPointer*, Extent)
HOOK(give_managed, hipMallocManaged, void**, size_t, unsigned)
HOOK(give_flagged, hipHostMalloc, void**, size_t, unsigned)
HOOK(give_flagged, hipHostAlloc, void**, size_t, unsigned)
HOOK(give_pinned, hipMallocHost, void**, size_t)
HOOK(give_pinned, hipMemAllocHost, void**, size_t)

HOOK(take_device_back, hipFree, void*)
HOOK(take_async, hipFreeAsync, void*, Stream)
HOOK(take_pinned_back, hipHostFree, void*)
HOOK(take_pinned_back, hipFreeHost, void*)

HOOK(register_host, hipHostRegister, void*, size_t, unsigned)
HOOKED Status hipHostUnregister(void* pointer) {
  NEXT(hipHostUnregister);
  return unregister_host(runtime(), next, pointer);
}

}  // namespace mneme::record::hip
