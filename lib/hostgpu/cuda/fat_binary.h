// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "vendor/cuda/api.h"

namespace mneme::hostgpu::cuda {

// Modules and libraries are made of a fat binary, or of a wrapper of one.
inline const void* image_of(const void* image) {
  const auto* wrapper = static_cast<const vendor::FatBinaryWrapper*>(image);
  return wrapper && wrapper->magic == vendor::cuda::kWrapperMagic ? wrapper->data : image;
}

}  // namespace mneme::hostgpu::cuda
