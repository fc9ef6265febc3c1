// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "hostgpu/hip.h"

namespace mneme::hostgpu {

// A texture object in device memory (device/host/services/images.h). Throw HipError: hipErrorInvalidValue, or
// hipErrorNotSupported with a sentence for what the host device does not have. `view` may be null.
hipTextureObject_t make_texture(const hipResourceDesc& resource, const hipTextureDesc& texture,
                                const hipResourceViewDesc* view);
void destroy_texture(hipTextureObject_t object);  // HipError(hipErrorInvalidValue) for what is none

}  // namespace mneme::hostgpu
