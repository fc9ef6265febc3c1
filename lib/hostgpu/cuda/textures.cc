// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arrays and textures, as far as HIP has them otherwise: copies of a run of bytes and between arrays, what is known of
// an array, and samplers.
#include <algorithm>

#include "hostgpu/cuda/functions.h"
#include "hostgpu/extensions.h"

namespace mneme::hostgpu::cuda {
namespace {

struct TextureDescription {  // cudaTextureDesc
  hipTextureDesc sampling;
  int without_trilinear_optimization, seamless;
};

struct MemoryRequirements {  // cudaArrayMemoryRequirements
  size_t size, alignment;
  unsigned reserved[4];
};

hipError_t status_of(int status) { return static_cast<hipError_t>(status); }

// What was given to the thread's own stream has been done.
Error waited(Error status) { return status ? status : error(hipStreamSynchronize(hipStreamPerThread)); }

// Finds where in an array a run of bytes lies, then calls `copy` with that.
template <class Copy>
Error with_run(const hipArray* array, size_t x, size_t row, size_t size, const Copy& copy) {
  void* bytes = nullptr;
  hipError_t found = status_of(mneme_hostgpu_array_bytes(array, x, row, size, &bytes));
  return error(found != hipSuccess ? found : copy(bytes));
}

size_t texel_bytes(const hipChannelFormatDesc& channels) {
  return static_cast<size_t>(channels.x + channels.y + channels.z + channels.w) / 8;
}

struct Known {
  hipChannelFormatDesc channels;
  unsigned flags;
};
hipError_t ask(const hipArray* array, Known& known) {
  hipError_t status = hipGetChannelDesc(&known.channels, array);
  return status == hipSuccess ? status_of(mneme_hostgpu_array_flags(array, &known.flags)) : status;
}

Error copy_box(const hipMemcpy3DParms& copy, hipStream_t stream, bool wait) {
  if (!wait) return error(hipMemcpy3D(&copy));
  return waited(error(hipMemcpy3DAsync(&copy, stream)));
}

// Columns are counted in bytes here, and in texels there.
Error copy_rows(hipArray* to, size_t to_x, size_t to_y, hipArray* from, size_t from_x, size_t from_y, size_t width,
                size_t height, int kind, hipStream_t stream, bool wait) {
  Known known{};
  if (hipError_t status = ask(to, known); status != hipSuccess) return error(status);
  size_t texel = texel_bytes(known.channels);
  if (hipError_t status = ask(from, known); status != hipSuccess) return error(status);
  if (texel != texel_bytes(known.channels)) return kInvalidValue;
  if (to_x % texel || from_x % texel || width % texel) return kInvalidValue;
  hipMemcpy3DParms copy{};
  copy.srcArray = from;
  copy.dstArray = to;
  copy.srcPos = {from_x / texel, from_y, 0};
  copy.dstPos = {to_x / texel, to_y, 0};
  copy.extent = {width / texel, height, 1};
  copy.kind = kind_of(kind);
  return copy_box(copy, stream, wait);
}

Error requirements(MemoryRequirements* requirements, size_t bytes) {
  *requirements = {bytes, 256, {}};
  return 0;
}

}  // namespace
}  // namespace mneme::hostgpu::cuda

using namespace mneme::hostgpu::cuda;

extern "C" {

hipChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, hipChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

// Null is none, and no error.
Error cudaFreeArray(hipArray* array) { return array ? error(hipFreeArray(array)) : 0; }
Error cudaFreeMipmappedArray(hipMipmappedArray_t array) { return array ? error(hipFreeMipmappedArray(array)) : 0; }

Error cudaArrayGetInfo(hipChannelFormatDesc* channels, hipExtent* extent, unsigned* flags, hipArray* array) {
  Known known{};
  if (hipError_t status = ask(array, known); status != hipSuccess) return error(status);
  if (channels) *channels = known.channels;
  if (extent) *extent = {array->width, array->height, array->depth};
  if (flags) *flags = known.flags;
  return 0;
}

Error cudaArrayGetMemoryRequirements(MemoryRequirements* needed, hipArray* array, int) {
  Known known{};
  if (!needed) return kInvalidValue;
  if (hipError_t status = ask(array, known); status != hipSuccess) return error(status);
  auto some = [](size_t texels) { return std::max<size_t>(texels, 1); };
  return requirements(needed, texel_bytes(known.channels) * array->width * some(array->height) * some(array->depth));
}

Error cudaMipmappedArrayGetMemoryRequirements(MemoryRequirements* needed, hipMipmappedArray_t array, int device) {
  if (!needed) return kInvalidValue;
  *needed = {};
  hipArray* level = nullptr;
  size_t bytes = 0;
  for (unsigned i = 0; hipGetMipmappedArrayLevel(&level, array, i) == hipSuccess; ++i) {
    if (Error status = cudaArrayGetMemoryRequirements(needed, level, device)) return status;
    bytes += needed->size;
  }
  if (!bytes) return kInvalidValue;
  static_cast<void>(hipGetLastError());  // of the level behind the last
  return requirements(needed, bytes);
}

Error cudaDeviceGetTexture1DLinearMaxWidth(size_t* texels, const hipChannelFormatDesc* channels, int) {
  if (!texels || !channels) return kInvalidValue;
  *texels = size_t{1} << 27;
  return 0;
}

// ---- runs of bytes, which go over the ends of rows ----

Error cudaMemcpyToArray(hipArray* to, size_t x, size_t row, const void* from, size_t size, int kind) {
  return with_run(to, x, row, size, [&](void* at) { return hipMemcpy(at, from, size, kind_of(kind)); });
}
Error cudaMemcpyToArrayAsync(hipArray* to, size_t x, size_t row, const void* from, size_t size, int kind,
                             hipStream_t stream) {
  return with_run(to, x, row, size,
                  [&](void* at) { return hipMemcpyAsync(at, from, size, kind_of(kind), stream_of(stream)); });
}
Error cudaMemcpyToArray_ptds(hipArray* to, size_t x, size_t row, const void* from, size_t size, int kind) {
  return waited(cudaMemcpyToArrayAsync(to, x, row, from, size, kind, hipStreamPerThread));
}
Error cudaMemcpyFromArray(void* to, const hipArray* from, size_t x, size_t row, size_t size, int kind) {
  return with_run(from, x, row, size, [&](void* at) { return hipMemcpy(to, at, size, kind_of(kind)); });
}
Error cudaMemcpyFromArrayAsync(void* to, const hipArray* from, size_t x, size_t row, size_t size, int kind,
                               hipStream_t stream) {
  return with_run(from, x, row, size,
                  [&](void* at) { return hipMemcpyAsync(to, at, size, kind_of(kind), stream_of(stream)); });
}
Error cudaMemcpyFromArray_ptds(void* to, const hipArray* from, size_t x, size_t row, size_t size, int kind) {
  return waited(cudaMemcpyFromArrayAsync(to, from, x, row, size, kind, hipStreamPerThread));
}
Error cudaMemcpyArrayToArray(hipArray* to, size_t to_x, size_t to_row, const hipArray* from, size_t from_x,
                             size_t from_row, size_t size, int kind) {
  return with_run(from, from_x, from_row, size,
                  [&](void* at) { return status_of(cudaMemcpyToArray(to, to_x, to_row, at, size, kind)); });
}
Error cudaMemcpyArrayToArray_ptds(hipArray* to, size_t to_x, size_t to_row, const hipArray* from, size_t from_x,
                                  size_t from_row, size_t size, int kind) {
  return with_run(from, from_x, from_row, size,
                  [&](void* at) { return status_of(cudaMemcpyToArray_ptds(to, to_x, to_row, at, size, kind)); });
}

Error cudaMemcpy2DArrayToArray(hipArray* to, size_t to_x, size_t to_y, hipArray* from, size_t from_x, size_t from_y,
                               size_t width, size_t height, int kind) {
  return copy_rows(to, to_x, to_y, from, from_x, from_y, width, height, kind, nullptr, false);
}
Error cudaMemcpy2DArrayToArray_ptds(hipArray* to, size_t to_x, size_t to_y, hipArray* from, size_t from_x,
                                    size_t from_y, size_t width, size_t height, int kind) {
  return copy_rows(to, to_x, to_y, from, from_x, from_y, width, height, kind, hipStreamPerThread, true);
}

// ---- textures ----

Error cudaCreateTextureObject(unsigned long long* object, const hipResourceDesc* resource,
                              const TextureDescription* texture, const hipResourceViewDesc* view) {
  if (!texture) return kInvalidValue;
  return mneme_hostgpu_create_texture(object, resource, &texture->sampling, view, texture->seamless != 0);
}

Error cudaGetTextureObjectTextureDesc(TextureDescription* texture, unsigned long long object) {
  if (!texture) return kInvalidValue;
  *texture = {};
  return error(hipGetTextureObjectTextureDesc(&texture->sampling, reinterpret_cast<hipTextureObject_t>(object)));
}

}  // extern "C"
