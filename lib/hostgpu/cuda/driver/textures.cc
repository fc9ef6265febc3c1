// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Textures, surfaces and arrays, as far as their functions are no other's.
#include "hostgpu/cuda/driver/driver.h"

namespace mneme::hostgpu::cuda::driver {
namespace {

constexpr unsigned kSeamless = 0x40;  // CU_TRSF_SEAMLESS_CUBEMAP

struct PlaneDescription {  // CUDA_ARRAY_DESCRIPTOR
  size_t width, height;
  int format;
  unsigned channels;
};

// Is called with what the array is, if it is one.
template <class Describe>
Result with_array(const hipArray* array, const Describe& describe) {
  hipChannelFormatDesc channels{};
  return answer([&] {
    hipError_t status = hipGetChannelDesc(&channels, array);
    if (status == hipSuccess) describe(*array);
    return status;
  });
}

}  // namespace
}  // namespace mneme::hostgpu::cuda::driver

using namespace mneme::hostgpu::cuda;
using namespace mneme::hostgpu::cuda::driver;
using mneme::vendor::cuda::ArrayDescription;

extern "C" {

Result cuTexObjectCreate(unsigned long long* object, const HIP_RESOURCE_DESC* resource, const HIP_TEXTURE_DESC* texture,
                         const HIP_RESOURCE_VIEW_DESC* view) {
  return answer([&] {
    bool seamless = texture && texture->flags & kSeamless;
    return static_cast<hipError_t>(mneme_hostgpu_create_drivers_texture(object, resource, texture, view, seamless));
  });
}

Result cuSurfObjectCreate(unsigned long long* object, const HIP_RESOURCE_DESC* resource) {
  if (!resource || resource->resType != HIP_RESOURCE_TYPE_ARRAY) return kInvalidValue;
  hipResourceDesc runtimes{};
  runtimes.resType = hipResourceTypeArray;
  runtimes.res.array.array = resource->res.array.hArray;
  return answer([&] { return static_cast<hipError_t>(mneme_hostgpu_create_surface(object, &runtimes)); });
}

Result cuArrayGetDescriptor_v2(PlaneDescription* description, const hipArray* array) {
  if (!description) return kInvalidValue;
  return with_array(array, [&](const hipArray& known) {
    *description = {known.width, known.height, known.Format, known.NumChannels};
  });
}

Result cuArray3DGetDescriptor_v2(ArrayDescription* description, const hipArray* array) {
  if (!description) return kInvalidValue;
  return with_array(array, [&](const hipArray& known) {
    *description = {known.width, known.height, known.depth, known.Format, known.NumChannels, known.type};
  });
}

}  // extern "C"
