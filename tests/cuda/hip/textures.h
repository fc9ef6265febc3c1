// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// HIP's names for textures, surfaces and arrays as CUDA's.
#pragma once

#include <cstring>
#include <vector>

#define hipTextureObject_t cudaTextureObject_t
#define hipSurfaceObject_t cudaSurfaceObject_t
#define hipArray_t cudaArray_t
#define hipChannelFormatDesc cudaChannelFormatDesc
#define hipResourceDesc cudaResourceDesc
#define hipTextureDesc cudaTextureDesc
#define hipTextureReadMode cudaTextureReadMode
#define hipTextureFilterMode cudaTextureFilterMode
#define hipTextureAddressMode cudaTextureAddressMode
#define hipCreateChannelDesc cudaCreateChannelDesc
#define hipCreateChannelDescHalf cudaCreateChannelDescHalf
#define hipGetChannelDesc cudaGetChannelDesc
#define hipCreateTextureObject cudaCreateTextureObject
#define hipDestroyTextureObject cudaDestroyTextureObject
#define hipGetTextureObjectTextureDesc cudaGetTextureObjectTextureDesc
#define hipCreateSurfaceObject cudaCreateSurfaceObject
#define hipDestroySurfaceObject cudaDestroySurfaceObject
#define hipMalloc3DArray cudaMalloc3DArray
#define hipMemcpy2DToArray cudaMemcpy2DToArray
#define hipMemcpy2DToArrayAsync cudaMemcpy2DToArrayAsync
#define hipMemcpy2DFromArray cudaMemcpy2DFromArray
#define hipMemcpy2DFromArrayAsync cudaMemcpy2DFromArrayAsync
#define make_hipPos make_cudaPos
#define hipChannelFormatKindFloat cudaChannelFormatKindFloat
#define hipChannelFormatKindSigned cudaChannelFormatKindSigned
#define hipChannelFormatKindUnsigned cudaChannelFormatKindUnsigned
#define hipResourceTypeArray cudaResourceTypeArray
#define hipResourceTypeLinear cudaResourceTypeLinear
#define hipResourceTypePitch2D cudaResourceTypePitch2D
#define hipReadModeElementType cudaReadModeElementType
#define hipReadModeNormalizedFloat cudaReadModeNormalizedFloat
#define hipFilterModePoint cudaFilterModePoint
#define hipFilterModeLinear cudaFilterModeLinear
#define hipAddressModeClamp cudaAddressModeClamp
#define hipAddressModeBorder cudaAddressModeBorder
#define hipAddressModeWrap cudaAddressModeWrap
#define hipAddressModeMirror cudaAddressModeMirror
#define hipArrayDefault cudaArrayDefault
#define hipArrayLayered cudaArrayLayered
#define hipArraySurfaceLoadStore cudaArraySurfaceLoadStore

// HIP's arrays are for all that they can be used for.
inline cudaError_t hipMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* channels, size_t width,
                                  size_t height = 0, unsigned flags = 0) {
  flags |= cudaArraySurfaceLoadStore | (height ? cudaArrayTextureGather : 0);
  return cudaMallocArray(array, channels, width, height, flags);
}
inline cudaError_t hipFreeArray(cudaArray_t array) { return array ? cudaFreeArray(array) : cudaErrorInvalidValue; }
inline cudaError_t hipArrayDestroy(cudaArray_t array) { return hipFreeArray(array); }

// Runs of bytes over the ends of rows, which CUDA's runtime has no call for.
template <class Change>
cudaError_t with_all_rows(cudaArray_t array, bool write, const Change& change) {
  cudaChannelFormatDesc channels = {};
  cudaExtent extent = {};
  unsigned flags = 0;
  if (cudaError_t status = cudaArrayGetInfo(&channels, &extent, &flags, array)) return status;
  const size_t row = extent.width * (channels.x + channels.y + channels.z + channels.w) / 8;
  const size_t rows = extent.height ? extent.height : 1;
  std::vector<char> all(row * rows);
  if (cudaError_t status = cudaMemcpy2DFromArray(all.data(), row, array, 0, 0, row, rows, cudaMemcpyDeviceToHost))
    return status;
  change(all.data());
  return write ? cudaMemcpy2DToArray(array, 0, 0, all.data(), row, row, rows, cudaMemcpyHostToDevice) : cudaSuccess;
}
inline cudaError_t hipMemcpyAtoH(void* to, cudaArray_t from, size_t offset, size_t size) {
  return with_all_rows(from, false, [=](const char* all) { std::memcpy(to, all + offset, size); });
}
inline cudaError_t hipMemcpyHtoA(cudaArray_t to, size_t offset, const void* from, size_t size) {
  return with_all_rows(to, true, [=](char* all) { std::memcpy(all + offset, from, size); });
}

// Of the driver's, as far as programs use it.
#define HIP_AD_FORMAT_SIGNED_INT32 cudaChannelFormatKindSigned
#define hipMemoryTypeArray 0
#define hipMemoryTypeHost 0
struct HIP_ARRAY3D_DESCRIPTOR {
  size_t Width, Height, Depth;
  cudaChannelFormatKind Format;  // of 32 bits
  unsigned NumChannels;
};
inline cudaError_t hipArray3DCreate(cudaArray_t* array, const HIP_ARRAY3D_DESCRIPTOR* wanted) {
  cudaChannelFormatDesc channels = cudaCreateChannelDesc(32, 0, 0, 0, wanted->Format);
  return cudaMalloc3DArray(array, &channels, make_cudaExtent(wanted->Width, wanted->Height, wanted->Depth),
                           cudaArraySurfaceLoadStore);
}
struct HIP_MEMCPY3D {  // from an array to the host
  int srcMemoryType, dstMemoryType;
  cudaArray_t srcArray;
  void* dstHost;
  size_t dstPitch, dstHeight, WidthInBytes, Height, Depth;
};
inline cudaError_t hipDrvMemcpy3D(const HIP_MEMCPY3D* wanted) {
  cudaMemcpy3DParms copy = {};
  copy.srcArray = wanted->srcArray;
  copy.dstPtr = make_cudaPitchedPtr(wanted->dstHost, wanted->dstPitch, wanted->WidthInBytes / 4, wanted->dstHeight);
  copy.extent = make_cudaExtent(wanted->WidthInBytes / 4, wanted->Height, wanted->Depth);
  copy.kind = cudaMemcpyDeviceToHost;
  return cudaMemcpy3D(&copy);
}

// HIP's take no mode for what lies outside: it reads as zeros, and is not written.
namespace hip_names {

__device__ constexpr cudaSurfaceBoundaryMode mode(cudaSurfaceBoundaryMode given = cudaBoundaryModeZero) {
  return given;
}

}  // namespace hip_names

#define surf1Dread(value, surface, x, ...) (surf1Dread)(value, surface, x, hip_names::mode(__VA_ARGS__))
#define surf1Dwrite(value, surface, x, ...) (surf1Dwrite)(value, surface, x, hip_names::mode(__VA_ARGS__))
#define surf2Dread(value, surface, x, y, ...) (surf2Dread)(value, surface, x, y, hip_names::mode(__VA_ARGS__))
#define surf2Dwrite(value, surface, x, y, ...) (surf2Dwrite)(value, surface, x, y, hip_names::mode(__VA_ARGS__))
#define surf3Dread(value, surface, x, y, z, ...) (surf3Dread)(value, surface, x, y, z, hip_names::mode(__VA_ARGS__))
#define surf3Dwrite(value, surface, x, y, z, ...) (surf3Dwrite)(value, surface, x, y, z, hip_names::mode(__VA_ARGS__))
