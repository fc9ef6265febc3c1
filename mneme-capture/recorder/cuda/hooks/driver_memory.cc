// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of CUDA's driver that give out memory, as the application finds them first.
#include "recorder/core/memory_hooks.h"
#include "recorder/cuda/graph_memory.h"
#include "recorder/cuda/runtime.h"
#include "recorder/memory/address.h"

namespace mneme::record::cuda {
namespace {

constinit Next<Result(Address*, size_t)> next_alloc(kDriver, "cuMemAlloc_v2");
constinit Next<Result(Address*, size_t, Stream)> next_alloc_async(kDriver, "cuMemAllocAsync");
constinit Next<Result(Address*, size_t, Stream)> next_alloc_async_ptsz(kDriver, "cuMemAllocAsync_ptsz");
constinit Next<Result(Address*, size_t, MemoryPool, Stream)> next_alloc_pool(kDriver, "cuMemAllocFromPoolAsync");
constinit Next<Result(Address*, size_t, MemoryPool, Stream)> next_alloc_pool_ptsz(kDriver,
                                                                                  "cuMemAllocFromPoolAsync_ptsz");
constinit Next<Result(Address*, size_t*, size_t, size_t, unsigned)> next_alloc_pitch(kDriver, "cuMemAllocPitch_v2");
constinit Next<Result(Address*, size_t, unsigned)> next_alloc_managed(kDriver, "cuMemAllocManaged");
constinit Next<Result(void**, size_t)> next_alloc_host(kDriver, "cuMemAllocHost_v2");
constinit Next<Result(void**, size_t, unsigned)> next_host_alloc(kDriver, "cuMemHostAlloc");
constinit Next<Result(Address)> next_free(kDriver, "cuMemFree_v2");
constinit Next<Result(Address, Stream)> next_free_async(kDriver, "cuMemFreeAsync");
constinit Next<Result(Address, Stream)> next_free_async_ptsz(kDriver, "cuMemFreeAsync_ptsz");
constinit Next<Result(void*)> next_free_host(kDriver, "cuMemFreeHost");
constinit Next<Result(void*, size_t, unsigned)> next_register(kDriver, "cuMemHostRegister_v2");
constinit Next<Result(void*)> next_unregister(kDriver, "cuMemHostUnregister");
constinit Next<Result(size_t*, size_t*)> next_info(kDriver, "cuMemGetInfo_v2");

constinit Next<Result(Address*, size_t*, Address)> next_range(kDriver, "cuMemGetAddressRange_v2");

constexpr size_t kRowAlign = 512;

void** as_pointer(Address* address) { return reinterpret_cast<void**>(address); }

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

Result cuMemAlloc_v2(Address* address, size_t size) {
  return give(first_recorder(), as_pointer(address), size, Space::kDevice, 0,
              [&] { return next_alloc.call_or(kNotSupported, address, size); });
}

Result cuMemAllocAsync(Address* address, size_t size, Stream stream) {
  return give_in_order(stream, as_pointer(address), size,
                       [&] { return next_alloc_async.call_or(kNotSupported, address, size, stream); });
}

Result cuMemAllocAsync_ptsz(Address* address, size_t size, Stream stream) {
  return give_in_order(per_thread(stream), as_pointer(address), size,
                       [&] { return next_alloc_async_ptsz.call_or(kNotSupported, address, size, stream); });
}

Result cuMemAllocFromPoolAsync(Address* address, size_t size, MemoryPool pool, Stream stream) {
  return give_in_order(stream, as_pointer(address), size,
                       [&] { return next_alloc_pool.call_or(kNotSupported, address, size, pool, stream); });
}

Result cuMemAllocFromPoolAsync_ptsz(Address* address, size_t size, MemoryPool pool, Stream stream) {
  return give_in_order(per_thread(stream), as_pointer(address), size,
                       [&] { return next_alloc_pool_ptsz.call_or(kNotSupported, address, size, pool, stream); });
}

Result cuMemAllocPitch_v2(Address* address, size_t* pitch, size_t width, size_t height, unsigned element) {
  return give_rows(first_recorder(), kRowAlign, as_pointer(address), pitch, width, height,
                   [&] { return next_alloc_pitch.call_or(kNotSupported, address, pitch, width, height, element); });
}

Result cuMemAllocManaged(Address* address, size_t size, unsigned flags) {
  return give(first_recorder(), as_pointer(address), size, Space::kHost, flags | kManaged,
              [&] { return next_alloc_managed.call_or(kNotSupported, address, size, flags); });
}

Result cuMemAllocHost_v2(void** pointer, size_t size) {
  return give(first_recorder(), pointer, size, Space::kHost, 0,
              [&] { return next_alloc_host.call_or(kNotSupported, pointer, size); });
}

Result cuMemHostAlloc(void** pointer, size_t size, unsigned flags) {
  return give(first_recorder(), pointer, size, Space::kHost, flags,
              [&] { return next_host_alloc.call_or(kNotSupported, pointer, size, flags); });
}

Result cuMemFree_v2(Address address) {
  if (give_graphs_memory_back(pointer_to(address))) return kSuccess;
  return take_back(recorder(), pointer_to(address), false, [&] { return next_free.call_or(kNotSupported, address); });
}

Result cuMemFreeAsync(Address address, Stream stream) {
  return take_back_in_order(stream, pointer_to(address),
                            [&] { return next_free_async.call_or(kNotSupported, address, stream); });
}

Result cuMemFreeAsync_ptsz(Address address, Stream stream) {
  return take_back_in_order(per_thread(stream), pointer_to(address),
                            [&] { return next_free_async_ptsz.call_or(kNotSupported, address, stream); });
}

Result cuMemFreeHost(void* pointer) {
  return take_back(recorder(), pointer, true, [&] { return next_free_host.call_or(kNotSupported, pointer); });
}

Result cuMemHostRegister_v2(void* pointer, size_t size, unsigned flags) {
  Result status = next_register.call_or(kNotSupported, pointer, size, flags);
  if (Core* core = first_recorder(); core && status == kSuccess) core->add_registered(pointer, size);
  return status;
}

Result cuMemHostUnregister(void* pointer) {
  return unregister(recorder(), pointer, [](void* own) { return next_unregister.call_or(kNotSupported, own); });
}

Result cuMemGetInfo_v2(size_t* left, size_t* total) {
  Result status = next_info.call_or(kNotSupported, left, total);
  Core* core = recorder();
  if (core && status == kSuccess && left) *left += core->unused_memory(core->device());
  return status;
}

// The driver knows the chunks of memory that allocations are pieces of.
Result cuMemGetAddressRange_v2(Address* base, size_t* size, Address address) {
  Core* core = recorder();
  auto known = core ? core->find(reinterpret_cast<const void*>(address)) : std::nullopt;
  if (!known) return next_range.call_or(kNotSupported, base, size, address);
  if (base) *base = known->address;
  if (size) *size = known->size;
  return kSuccess;
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::cuda
