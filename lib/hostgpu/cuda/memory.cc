// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory: what gives it out, copies it, fills it and tells of it.
#include "hostgpu/cuda/cuda.h"
#include "hostgpu/extensions.h"

namespace mneme::hostgpu::cuda {
namespace {

// What was given to the thread's own stream has been done.
Error waited(hipError_t status) {
  return error(status != hipSuccess ? status : hipStreamSynchronize(hipStreamPerThread));
}

}  // namespace
}  // namespace mneme::hostgpu::cuda

using namespace mneme::hostgpu::cuda;

extern "C" {

// HIP's are overloaded.
Error cudaGetSymbolAddress(void** address, const void* symbol) { return error(hipGetSymbolAddress(address, symbol)); }
Error cudaGetSymbolSize(size_t* size, const void* symbol) { return error(hipGetSymbolSize(size, symbol)); }
Error cudaMemcpyToSymbol(const void* symbol, const void* from, size_t size, size_t offset, int kind) {
  return error(hipMemcpyToSymbol(symbol, from, size, offset, kind_of(kind)));
}
Error cudaMemcpyToSymbol_ptds(const void* symbol, const void* from, size_t size, size_t offset, int kind) {
  return waited(hipMemcpyToSymbolAsync(symbol, from, size, offset, kind_of(kind), hipStreamPerThread));
}
Error cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t size, size_t offset, int kind,
                              hipStream_t stream) {
  return error(hipMemcpyToSymbolAsync(symbol, from, size, offset, kind_of(kind), stream_of(stream)));
}
Error cudaMemcpyToSymbolAsync_ptsz(const void* symbol, const void* from, size_t size, size_t offset, int kind,
                                   hipStream_t stream) {
  return error(hipMemcpyToSymbolAsync(symbol, from, size, offset, kind_of(kind), own_stream(stream)));
}
Error cudaMemcpyFromSymbol(void* to, const void* symbol, size_t size, size_t offset, int kind) {
  return error(hipMemcpyFromSymbol(to, symbol, size, offset, kind_of(kind)));
}
Error cudaMemcpyFromSymbol_ptds(void* to, const void* symbol, size_t size, size_t offset, int kind) {
  return waited(hipMemcpyFromSymbolAsync(to, symbol, size, offset, kind_of(kind), hipStreamPerThread));
}
Error cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t size, size_t offset, int kind,
                                hipStream_t stream) {
  return error(hipMemcpyFromSymbolAsync(to, symbol, size, offset, kind_of(kind), stream_of(stream)));
}
Error cudaMemcpyFromSymbolAsync_ptsz(void* to, const void* symbol, size_t size, size_t offset, int kind,
                                     hipStream_t stream) {
  return error(hipMemcpyFromSymbolAsync(to, symbol, size, offset, kind_of(kind), own_stream(stream)));
}

Error cudaMallocHost(void** pointer, size_t size) { return error(hipHostMalloc(pointer, size, 0)); }
Error cudaMallocAsync(void** pointer, size_t size, hipStream_t stream) {
  const hipError_t status = hipMallocAsync(pointer, size, stream_of(stream));
  if (status == hipSuccess && *pointer) mneme_hostgpu_note_allocation(*pointer, size, stream_of(stream));
  return error(status);
}
Error cudaMallocFromPoolAsync(void** pointer, size_t size, hipMemPool_t pool, hipStream_t stream) {
  const hipError_t status = hipMallocFromPoolAsync(pointer, size, pool, stream_of(stream));
  if (status == hipSuccess && *pointer) mneme_hostgpu_note_allocation(*pointer, size, stream_of(stream));
  return error(status);
}
Error cudaFree(void* pointer) { return mneme_hostgpu_give_back(pointer) ? 0 : error(hipFree(pointer)); }
Error cudaFreeAsync(void* pointer, hipStream_t stream) {
  return mneme_hostgpu_give_back_in(pointer, stream_of(stream)) ? 0 : error(hipFreeAsync(pointer, stream_of(stream)));
}

Error cudaMemPoolCreate(hipMemPool_t* pool, const PoolProperties* properties) {
  if (!properties) return kInvalidValue;
  hipMemPoolProps hips{};
  hips.allocType = static_cast<hipMemAllocationType>(properties->type);
  hips.handleTypes = static_cast<hipMemAllocationHandleType>(properties->handle_types);
  hips.location = properties->location;
  return error(hipMemPoolCreate(pool, &hips));
}

}  // extern "C"
