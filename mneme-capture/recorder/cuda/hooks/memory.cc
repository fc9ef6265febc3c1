// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of CUDA's runtime and of its driver that give out and describe memory. The driver's addresses, which
// are numbers, are pointers here.
#include "recorder/core/memory_hooks.h"
#include "recorder/cuda/graph_memory.h"
#include "recorder/cuda/runtime.h"

namespace mneme::record::cuda {
namespace {

bool is_managed(const void* pointer) {
  std::optional<Allocations::Known> memory = known_to(recorder(), pointer);
  return memory && memory->flags & kManaged;
}

// In the order of a stream, which may be captured.
Status give_async(CudaRuntime&, const Real& real, void** pointer, size_t size, Stream stream) {
  return give_in_order(stream, pointer, size, real);
}
Status give_from_pool(CudaRuntime&, const Real& real, void** pointer, size_t size, MemoryPool, Stream stream) {
  return give_in_order(stream, pointer, size, real);
}
Status take_async(CudaRuntime&, const Real& real, void* pointer, Stream stream) {
  return take_back_in_order(stream, pointer, real);
}

Status take_back(CudaRuntime& runtime, const Real& real, void* pointer) {
  return give_graphs_memory_back(pointer) ? kSuccess : take_device_back(runtime, real, pointer);
}

Status attributes(CudaRuntime&, const Real& real, PointerAttributes* attributes, const void* pointer) {
  const Status status = real();
  if (status == kSuccess && attributes && is_managed(pointer)) attributes->type = kManagedMemory;
  return status;
}

// Advice on where managed memory is to be: recorded, it is the host's.
Status advise(CudaRuntime&, const Real& real, const void* pointer, ...) {
  return is_managed(pointer) ? kSuccess : real();
}
Status attach(CudaRuntime&, const Real& real, Stream, void* pointer, ...) {
  return is_managed(pointer) ? kSuccess : real();
}

}  // namespace

HOOK(give_device, cudaMalloc, void**, size_t)
HOOK(give_device, cuMemAlloc_v2, void**, size_t)
HOOK_PTSZ(give_async, cudaMallocAsync, void**, size_t, Stream)
HOOK_PTSZ(give_async, cuMemAllocAsync, void**, size_t, Stream)
HOOK_PTSZ(give_from_pool, cudaMallocFromPoolAsync, void**, size_t, MemoryPool, Stream)
HOOK_PTSZ(give_from_pool, cuMemAllocFromPoolAsync, void**, size_t, MemoryPool, Stream)
HOOK(give_rows, cudaMallocPitch, void**, size_t*, size_t, size_t)
HOOK(give_rows, cuMemAllocPitch_v2, void**, size_t*, size_t, size_t, unsigned)
HOOK(give_box, cudaMalloc3D, PitchedPointer*, Extent)
HOOK(give_managed, cudaMallocManaged, void**, size_t, unsigned)
HOOK(give_managed, cuMemAllocManaged, void**, size_t, unsigned)
HOOK(give_pinned, cudaMallocHost, void**, size_t)
HOOK(give_pinned, cuMemAllocHost_v2, void**, size_t)
HOOK(give_flagged, cudaHostAlloc, void**, size_t, unsigned)
HOOK(give_flagged, cuMemHostAlloc, void**, size_t, unsigned)

HOOK(take_back, cudaFree, void*)
HOOK(take_back, cuMemFree_v2, void*)
HOOK_PTSZ(take_async, cudaFreeAsync, void*, Stream)
HOOK_PTSZ(take_async, cuMemFreeAsync, void*, Stream)
HOOK(take_pinned_back, cudaFreeHost, void*)
HOOK(take_pinned_back, cuMemFreeHost, void*)

HOOK(register_host, cudaHostRegister, void*, size_t, unsigned)
HOOK(register_host, cuMemHostRegister_v2, void*, size_t, unsigned)
HOOKED Status cudaHostUnregister(void* pointer) {
  NEXT(cudaHostUnregister);
  return unregister_host(runtime(), next, pointer);
}
HOOKED Status cuMemHostUnregister(void* pointer) {
  NEXT(cuMemHostUnregister);
  return unregister_host(runtime(), next, pointer);
}

HOOK(memory_info, cudaMemGetInfo, size_t*, size_t*)
HOOK(memory_info, cuMemGetInfo_v2, size_t*, size_t*)
HOOK(host_flags, cudaHostGetFlags, unsigned*, void*)
HOOK(host_flags, cuMemHostGetFlags, unsigned*, void*)
HOOK(attributes, cudaPointerGetAttributes, PointerAttributes*, const void*)
// The driver knows the chunks of memory that allocations are pieces of.
HOOK(address_range, cuMemGetAddressRange_v2, void**, size_t*, void*)

// What follows the size differs between versions, as numbers and structures of two numbers.
HOOK(advise, cudaMemAdvise, const void*, size_t, int, uint64_t)
HOOK_PTSZ(advise, cudaMemPrefetchAsync, const void*, size_t, uint64_t, uint64_t, Stream)
HOOK_PTSZ(attach, cudaStreamAttachMemAsync, Stream, void*, size_t, unsigned)
HOOK(advise, cuMemAdvise, const void*, size_t, int, int)
HOOK(advise, cuMemAdvise_v2, const void*, size_t, int, uint64_t)
HOOK_PTSZ(advise, cuMemPrefetchAsync, const void*, size_t, int, Stream)
HOOK_PTSZ(advise, cuMemPrefetchAsync_v2, const void*, size_t, uint64_t, unsigned, Stream)
HOOK_PTSZ(attach, cuStreamAttachMemAsync, Stream, void*, size_t, unsigned)

}  // namespace mneme::record::cuda
