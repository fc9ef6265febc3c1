// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The CUDA functions that give out and describe memory, as the application finds them first.
#include "recorder/core/memory_hooks.h"
#include "recorder/cuda/graph_memory.h"
#include "recorder/cuda/runtime.h"

namespace mneme::record::cuda {
namespace {

constinit Next<Error(void**, size_t)> next_malloc(kLibrary, "cudaMalloc");
constinit Next<Error(void**, size_t, Stream)> next_malloc_async(kLibrary, "cudaMallocAsync");
constinit Next<Error(void**, size_t, MemoryPool, Stream)> next_malloc_pool(kLibrary, "cudaMallocFromPoolAsync");
constinit Next<Error(void**, size_t, Stream)> next_malloc_async_ptsz(kLibrary, "cudaMallocAsync_ptsz");
constinit Next<Error(void**, size_t, MemoryPool, Stream)> next_malloc_pool_ptsz(kLibrary,
                                                                                "cudaMallocFromPoolAsync_ptsz");
constinit Next<Error(void**, size_t*, size_t, size_t)> next_malloc_pitch(kLibrary, "cudaMallocPitch");
constinit Next<Error(PitchedPointer*, Extent)> next_malloc_3d(kLibrary, "cudaMalloc3D");
constinit Next<Error(void**, size_t, unsigned)> next_malloc_managed(kLibrary, "cudaMallocManaged");
constinit Next<Error(void**, size_t)> next_malloc_host(kLibrary, "cudaMallocHost");
constinit Next<Error(void**, size_t, unsigned)> next_host_alloc(kLibrary, "cudaHostAlloc");
constinit Next<Error(void*)> next_free(kLibrary, "cudaFree");
constinit Next<Error(void*, Stream)> next_free_async(kLibrary, "cudaFreeAsync");
constinit Next<Error(void*, Stream)> next_free_async_ptsz(kLibrary, "cudaFreeAsync_ptsz");
constinit Next<Error(void*)> next_free_host(kLibrary, "cudaFreeHost");
constinit Next<Error(void*, size_t, unsigned)> next_host_register(kLibrary, "cudaHostRegister");
constinit Next<Error(void*)> next_host_unregister(kLibrary, "cudaHostUnregister");
constinit Next<Error(size_t*, size_t*)> next_memory_info(kLibrary, "cudaMemGetInfo");
constinit Next<Error(unsigned*, void*)> next_host_flags(kLibrary, "cudaHostGetFlags");
constinit Next<Error(PointerAttributes*, const void*)> next_attributes(kLibrary, "cudaPointerGetAttributes");
// Advice on where managed memory is to be: recorded, it is the host's. What follows the size differs between versions,
// as numbers and structures of two numbers.
constinit Next<Error(const void*, size_t, int, uint64_t)> next_advise(kLibrary, "cudaMemAdvise");
constinit Next<Error(const void*, size_t, uint64_t, uint64_t, Stream)> next_prefetch(kLibrary, "cudaMemPrefetchAsync");
constinit Next<Error(const void*, size_t, uint64_t, uint64_t, Stream)> next_prefetch_ptsz(kLibrary,
                                                                                          "cudaMemPrefetchAsync_ptsz");
constinit Next<Error(Stream, void*, size_t, unsigned)> next_attach(kLibrary, "cudaStreamAttachMemAsync");
constinit Next<Error(Stream, void*, size_t, unsigned)> next_attach_ptsz(kLibrary, "cudaStreamAttachMemAsync_ptsz");

constexpr size_t kRowAlign = 512;

bool is_managed(const void* pointer) {
  std::optional<Allocations::Known> memory = known_to(recorder(), pointer);
  return memory && memory->flags & kManaged;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

Error cudaMalloc(void** pointer, size_t size) {
  return give(first_recorder(), pointer, size, Space::kDevice, 0,
              [&] { return next_malloc.call_or(kNotSupported, pointer, size); });
}

Error cudaMallocAsync(void** pointer, size_t size, Stream stream) {
  return give_in_order(stream, pointer, size,
                       [&] { return next_malloc_async.call_or(kNotSupported, pointer, size, stream); });
}

Error cudaMallocFromPoolAsync(void** pointer, size_t size, MemoryPool pool, Stream stream) {
  return give_in_order(stream, pointer, size,
                       [&] { return next_malloc_pool.call_or(kNotSupported, pointer, size, pool, stream); });
}

Error cudaMallocAsync_ptsz(void** pointer, size_t size, Stream stream) {
  return give_in_order(per_thread(stream), pointer, size,
                       [&] { return next_malloc_async_ptsz.call_or(kNotSupported, pointer, size, stream); });
}

Error cudaMallocFromPoolAsync_ptsz(void** pointer, size_t size, MemoryPool pool, Stream stream) {
  return give_in_order(per_thread(stream), pointer, size,
                       [&] { return next_malloc_pool_ptsz.call_or(kNotSupported, pointer, size, pool, stream); });
}

Error cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  return give_rows(first_recorder(), kRowAlign, pointer, pitch, width, height,
                   [&] { return next_malloc_pitch.call_or(kNotSupported, pointer, pitch, width, height); });
}

Error cudaMalloc3D(PitchedPointer* pitched, Extent extent) {
  return give_box(first_recorder(), kRowAlign, pitched, extent,
                  [&] { return next_malloc_3d.call_or(kNotSupported, pitched, extent); });
}

Error cudaMallocManaged(void** pointer, size_t size, unsigned flags) {
  return give(first_recorder(), pointer, size, Space::kHost, flags | kManaged,
              [&] { return next_malloc_managed.call_or(kNotSupported, pointer, size, flags); });
}

Error cudaMallocHost(void** pointer, size_t size) {
  return give(first_recorder(), pointer, size, Space::kHost, 0,
              [&] { return next_malloc_host.call_or(kNotSupported, pointer, size); });
}

Error cudaHostAlloc(void** pointer, size_t size, unsigned flags) {
  return give(first_recorder(), pointer, size, Space::kHost, flags,
              [&] { return next_host_alloc.call_or(kNotSupported, pointer, size, flags); });
}

Error cudaFree(void* pointer) {
  if (give_graphs_memory_back(pointer)) return kSuccess;
  return take_back(recorder(), pointer, false, [&] { return next_free.call_or(kNotSupported, pointer); });
}

Error cudaFreeAsync(void* pointer, Stream stream) {
  return take_back_in_order(stream, pointer, [&] { return next_free_async.call_or(kNotSupported, pointer, stream); });
}

Error cudaFreeAsync_ptsz(void* pointer, Stream stream) {
  return take_back_in_order(per_thread(stream), pointer,
                            [&] { return next_free_async_ptsz.call_or(kNotSupported, pointer, stream); });
}

Error cudaFreeHost(void* pointer) {
  return take_back(recorder(), pointer, true, [&] { return next_free_host.call_or(kNotSupported, pointer); });
}

Error cudaHostRegister(void* pointer, size_t size, unsigned flags) {
  Error status = next_host_register.call_or(kNotSupported, pointer, size, flags);
  if (Core* core = first_recorder(); core && status == kSuccess) core->add_registered(pointer, size);
  return status;
}

Error cudaHostUnregister(void* pointer) {
  return unregister(recorder(), pointer, [](void* own) { return next_host_unregister.call_or(kNotSupported, own); });
}

// To the runtime all that lies behind the arenas is in use; to the application, what is allocated there.
Error cudaMemGetInfo(size_t* left, size_t* total) {
  Error status = next_memory_info.call_or(kNotSupported, left, total);
  Core* core = recorder();
  if (core && status == kSuccess && left) *left += core->unused_memory(core->device());
  return status;
}

Error cudaHostGetFlags(unsigned* flags, void* host) {
  std::optional<Allocations::Known> memory = known_to(recorder(), host);
  if (!memory || !flags || !is_host(*memory)) return next_host_flags.call_or(kNotSupported, flags, host);
  *flags = static_cast<unsigned>(memory->flags);
  return kSuccess;
}

Error cudaPointerGetAttributes(PointerAttributes* attributes, const void* pointer) {
  Error status = next_attributes.call_or(kNotSupported, attributes, pointer);
  if (status == kSuccess && attributes && is_managed(pointer)) attributes->type = kManagedMemory;
  return status;
}

Error cudaMemAdvise(const void* pointer, size_t size, int advice, uint64_t place) {
  if (is_managed(pointer)) return kSuccess;
  return next_advise.call_or(kNotSupported, pointer, size, advice, place);
}

Error cudaMemPrefetchAsync(const void* pointer, size_t size, uint64_t place, uint64_t more, Stream stream) {
  if (is_managed(pointer)) return kSuccess;
  return next_prefetch.call_or(kNotSupported, pointer, size, place, more, stream);
}

Error cudaMemPrefetchAsync_ptsz(const void* pointer, size_t size, uint64_t place, uint64_t more, Stream stream) {
  if (is_managed(pointer)) return kSuccess;
  return next_prefetch_ptsz.call_or(kNotSupported, pointer, size, place, more, stream);
}

Error cudaStreamAttachMemAsync(Stream stream, void* pointer, size_t size, unsigned flags) {
  if (is_managed(pointer)) return kSuccess;
  return next_attach.call_or(kNotSupported, stream, pointer, size, flags);
}

Error cudaStreamAttachMemAsync_ptsz(Stream stream, void* pointer, size_t size, unsigned flags) {
  if (is_managed(pointer)) return kSuccess;
  return next_attach_ptsz.call_or(kNotSupported, stream, pointer, size, flags);
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::cuda
