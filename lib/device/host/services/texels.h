// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Texels in memory, and as kernels see them.
#pragma once
#include <cstddef>

#include "device/host/services/images.h"

namespace mneme::device::host {

// Whether kernels get floats of it, or else integers.
bool reads_floats(const Image& image);
codegen::host::Texel decode(const Image& image, const std::byte* from);
void encode(const Image& image, std::byte* to, codegen::host::Texel texel);

}  // namespace mneme::device::host
