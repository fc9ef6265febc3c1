// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The structure in front of a fat binary.
#pragma once
#include <cstdint>

namespace mneme::hostgpu::cuda {

struct Wrapper {  // __fatBinC_Wrapper_t
  uint32_t magic;
  uint32_t version;
  const void* data;
  void* unused;
};
inline constexpr uint32_t kWrapperMagic = 0x466243b1;

// Modules and libraries are made of a fat binary, or of a wrapper of one.
inline const void* image_of(const void* image) {
  const auto* wrapper = static_cast<const Wrapper*>(image);
  return wrapper && wrapper->magic == kWrapperMagic ? wrapper->data : image;
}

}  // namespace mneme::hostgpu::cuda
