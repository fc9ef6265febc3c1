// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <optional>

#include "hostgpu/hip.h"

namespace mneme::hostgpu {

// What CUDA's textures have otherwise than HIP's.
struct TextureRules {
  bool cuda = false;      // weights of 256ths, and a border of integers is its bits
  bool seamless = false;  // filters reach over the edges of a cube's faces
};

// A texture object in device memory (device/host/services/images.h). Throw HipError: hipErrorInvalidValue, or
// hipErrorNotSupported with a sentence for what the host device does not have. `view` may be null.
hipTextureObject_t make_texture(const hipResourceDesc& resource, const hipTextureDesc& texture,
                                const hipResourceViewDesc* view, const TextureRules& rules = {});
// What a texture or surface was made of.
struct Description {
  hipResourceDesc resource = {};
  hipTextureDesc texture = {};
  std::optional<hipResourceViewDesc> view;
  bool surface = false;
  TextureRules rules = {};
};
// HipError(hipErrorInvalidValue) for what is none, or the other.
Description description_of(const void* object, bool surface);

void destroy_texture(hipTextureObject_t object);  // HipError(hipErrorInvalidValue) for what is none

}  // namespace mneme::hostgpu
