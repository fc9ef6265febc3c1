// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory: what gives it out, copies it, fills it and tells of it.
#include "hostgpu/cuda/cuda.h"
#include "hostgpu/extensions.h"

using namespace mneme::hostgpu::cuda;

extern "C" {

Error cudaMalloc(void** pointer, size_t size) { return error(hipMalloc(pointer, size)); }
Error cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  return error(hipMallocPitch(pointer, pitch, width, height));
}
Error cudaMalloc3D(hipPitchedPtr* pointer, hipExtent extent) { return error(hipMalloc3D(pointer, extent)); }
Error cudaMallocManaged(void** pointer, size_t size, unsigned flags) {
  return error(hipMallocManaged(pointer, size, flags));
}
Error cudaMallocHost(void** pointer, size_t size) { return error(hipHostMalloc(pointer, size, 0)); }
Error cudaHostAlloc(void** pointer, size_t size, unsigned flags) { return error(hipHostMalloc(pointer, size, flags)); }
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
Error cudaFreeHost(void* pointer) { return error(hipHostFree(pointer)); }
Error cudaHostRegister(void* pointer, size_t size, unsigned flags) {
  return error(hipHostRegister(pointer, size, flags));
}
Error cudaHostUnregister(void* pointer) { return error(hipHostUnregister(pointer)); }
Error cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
  return error(hipHostGetDevicePointer(device, host, flags));
}
Error cudaHostGetFlags(unsigned* flags, void* host) { return error(hipHostGetFlags(flags, host)); }
Error cudaMemGetInfo(size_t* left, size_t* total) { return error(hipMemGetInfo(left, total)); }

Error cudaMemcpy(void* to, const void* from, size_t size, int kind) {
  return error(hipMemcpy(to, from, size, kind_of(kind)));
}
Error cudaMemcpyAsync(void* to, const void* from, size_t size, int kind, hipStream_t stream) {
  return error(hipMemcpyAsync(to, from, size, kind_of(kind), stream_of(stream)));
}
Error cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t size) {
  return error(hipMemcpyPeer(to, to_device, from, from_device, size));
}
Error cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t size, hipStream_t stream) {
  return error(hipMemcpyPeerAsync(to, to_device, from, from_device, size, stream_of(stream)));
}
Error cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                   int kind) {
  return error(hipMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind_of(kind)));
}
Error cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                        int kind, hipStream_t stream) {
  return error(hipMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind_of(kind), stream_of(stream)));
}
Error cudaMemcpy3D(const hipMemcpy3DParms* box) { return error(hipMemcpy3D(box)); }
Error cudaMemcpy3DAsync(const hipMemcpy3DParms* box, hipStream_t stream) {
  return error(hipMemcpy3DAsync(box, stream_of(stream)));
}
Error cudaMemcpyToSymbol(const void* symbol, const void* from, size_t size, size_t offset, int kind) {
  return error(hipMemcpyToSymbol(symbol, from, size, offset, kind_of(kind)));
}
Error cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t size, size_t offset, int kind,
                              hipStream_t stream) {
  return error(hipMemcpyToSymbolAsync(symbol, from, size, offset, kind_of(kind), stream_of(stream)));
}
Error cudaMemcpyFromSymbol(void* to, const void* symbol, size_t size, size_t offset, int kind) {
  return error(hipMemcpyFromSymbol(to, symbol, size, offset, kind_of(kind)));
}
Error cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t size, size_t offset, int kind,
                                hipStream_t stream) {
  return error(hipMemcpyFromSymbolAsync(to, symbol, size, offset, kind_of(kind), stream_of(stream)));
}
Error cudaGetSymbolAddress(void** address, const void* symbol) { return error(hipGetSymbolAddress(address, symbol)); }
Error cudaGetSymbolSize(size_t* size, const void* symbol) { return error(hipGetSymbolSize(size, symbol)); }

Error cudaMemset(void* to, int value, size_t size) { return error(hipMemset(to, value, size)); }
Error cudaMemsetAsync(void* to, int value, size_t size, hipStream_t stream) {
  return error(hipMemsetAsync(to, value, size, stream_of(stream)));
}
Error cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return error(hipMemset2D(to, pitch, value, width, height));
}
Error cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height, hipStream_t stream) {
  return error(hipMemset2DAsync(to, pitch, value, width, height, stream_of(stream)));
}
Error cudaMemset3D(hipPitchedPtr to, int value, hipExtent extent) { return error(hipMemset3D(to, value, extent)); }
Error cudaMemset3DAsync(hipPitchedPtr to, int value, hipExtent extent, hipStream_t stream) {
  return error(hipMemset3DAsync(to, value, extent, stream_of(stream)));
}

Error cudaMemRangeGetAttribute(void* data, size_t size, int which, const void* pointer, size_t count) {
  return error(hipMemRangeGetAttribute(data, size, static_cast<hipMemRangeAttribute>(which), pointer, count));
}
Error cudaMemRangeGetAttributes(void** data, size_t* sizes, hipMemRangeAttribute* which, size_t attributes,
                                const void* pointer, size_t count) {
  return error(hipMemRangeGetAttributes(data, sizes, which, attributes, pointer, count));
}

Error cudaDeviceGetDefaultMemPool(hipMemPool_t* pool, int device) {
  return error(hipDeviceGetDefaultMemPool(pool, device));
}
Error cudaDeviceGetMemPool(hipMemPool_t* pool, int device) { return error(hipDeviceGetMemPool(pool, device)); }
Error cudaDeviceSetMemPool(int device, hipMemPool_t pool) { return error(hipDeviceSetMemPool(device, pool)); }
Error cudaMemPoolCreate(hipMemPool_t* pool, const PoolProperties* properties) {
  if (!properties) return kInvalidValue;
  hipMemPoolProps hips{};
  hips.allocType = static_cast<hipMemAllocationType>(properties->type);
  hips.handleTypes = static_cast<hipMemAllocationHandleType>(properties->handle_types);
  hips.location = properties->location;
  return error(hipMemPoolCreate(pool, &hips));
}
Error cudaMemPoolDestroy(hipMemPool_t pool) { return error(hipMemPoolDestroy(pool)); }
Error cudaMemPoolTrimTo(hipMemPool_t pool, size_t least) { return error(hipMemPoolTrimTo(pool, least)); }
Error cudaMemPoolGetAttribute(hipMemPool_t pool, int which, void* value) {
  return error(hipMemPoolGetAttribute(pool, static_cast<hipMemPoolAttr>(which), value));
}
Error cudaMemPoolSetAttribute(hipMemPool_t pool, int which, void* value) {
  return error(hipMemPoolSetAttribute(pool, static_cast<hipMemPoolAttr>(which), value));
}
Error cudaMemPoolSetAccess(hipMemPool_t pool, const hipMemAccessDesc* access, size_t count) {
  return error(hipMemPoolSetAccess(pool, access, count));
}
Error cudaMemPoolGetAccess(hipMemAccessFlags* flags, hipMemPool_t pool, hipMemLocation* location) {
  return error(hipMemPoolGetAccess(flags, pool, location));
}

}  // extern "C"
