// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <memory>
#include <span>

#include "device/gpu/gpu.h"
#include "device/image.h"

namespace mneme::device::gpu {

// nullptr: the GPU has no kernels for it, or no memory left.
std::unique_ptr<Image> make_image(Gpu& gpu, std::span<const BlockRange> ranges);

}  // namespace mneme::device::gpu
