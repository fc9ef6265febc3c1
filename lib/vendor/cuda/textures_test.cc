// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What textures.h declares is what the toolkit's header says, where there is one.
#include "vendor/cuda/textures.h"

#include <gtest/gtest.h>

#if __has_include(<cuda.h>)
#include <cuda.h>

namespace mneme::vendor::cuda {

static_assert(sizeof(Object) == sizeof(CUtexObject) && sizeof(Object) == sizeof(CUsurfObject));
static_assert(sizeof(ArrayDescription) == sizeof(CUDA_ARRAY3D_DESCRIPTOR));
static_assert(offsetof(ArrayDescription, format) == offsetof(CUDA_ARRAY3D_DESCRIPTOR, Format));
static_assert(offsetof(ArrayDescription, flags) == offsetof(CUDA_ARRAY3D_DESCRIPTOR, Flags));
static_assert(sizeof(Resource) == sizeof(CUDA_RESOURCE_DESC));
static_assert(offsetof(Resource, array) == offsetof(CUDA_RESOURCE_DESC, res.array.hArray));
static_assert(offsetof(Resource, linear.address) == offsetof(CUDA_RESOURCE_DESC, res.linear.devPtr));
static_assert(offsetof(Resource, linear.bytes) == offsetof(CUDA_RESOURCE_DESC, res.linear.sizeInBytes));
static_assert(offsetof(Resource, pitched.channels) == offsetof(CUDA_RESOURCE_DESC, res.pitch2D.numChannels));
static_assert(offsetof(Resource, pitched.pitch) == offsetof(CUDA_RESOURCE_DESC, res.pitch2D.pitchInBytes));
static_assert(offsetof(Resource, flags) == offsetof(CUDA_RESOURCE_DESC, flags));
static_assert(static_cast<int>(bundle::TextureSource::kArray) == CU_RESOURCE_TYPE_ARRAY);
static_assert(static_cast<int>(bundle::TextureSource::kMipmappedArray) == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY);
static_assert(static_cast<int>(bundle::TextureSource::kLinear) == CU_RESOURCE_TYPE_LINEAR);
static_assert(static_cast<int>(bundle::TextureSource::kPitched) == CU_RESOURCE_TYPE_PITCH2D);
static_assert(sizeof(Sampling) == sizeof(CUDA_TEXTURE_DESC));
static_assert(offsetof(Sampling, reserved) == offsetof(CUDA_TEXTURE_DESC, reserved));
static_assert(sizeof(View) == sizeof(CUDA_RESOURCE_VIEW_DESC));
static_assert(offsetof(View, width) == offsetof(CUDA_RESOURCE_VIEW_DESC, width));
static_assert(offsetof(View, last_layer) == offsetof(CUDA_RESOURCE_VIEW_DESC, lastLayer));
static_assert(kHostMemory == CU_MEMORYTYPE_HOST && kDeviceMemory == CU_MEMORYTYPE_DEVICE);
static_assert(kArrayMemory == CU_MEMORYTYPE_ARRAY);
static_assert(sizeof(Copy) == sizeof(CUDA_MEMCPY3D));
static_assert(offsetof(Copy, from.type) == offsetof(CUDA_MEMCPY3D, srcMemoryType));
static_assert(offsetof(Copy, from.array) == offsetof(CUDA_MEMCPY3D, srcArray));
static_assert(offsetof(Copy, from.height) == offsetof(CUDA_MEMCPY3D, srcHeight));
static_assert(offsetof(Copy, to.device) == offsetof(CUDA_MEMCPY3D, dstDevice));
static_assert(offsetof(Copy, to.pitch) == offsetof(CUDA_MEMCPY3D, dstPitch));
static_assert(offsetof(Copy, row_bytes) == offsetof(CUDA_MEMCPY3D, WidthInBytes));
static_assert(offsetof(Copy, slices) == offsetof(CUDA_MEMCPY3D, Depth));

}  // namespace mneme::vendor::cuda
#endif

// The comparison is the compiler's; this says that it took place.
TEST(CudaTextures, AgreeWithTheToolkitsHeader) { EXPECT_EQ(mneme::vendor::cuda::kArrayMemory, 3); }
