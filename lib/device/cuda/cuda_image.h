// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <memory>
#include <span>

#include "device/image.h"

namespace mneme::device::cuda {

// Of the context that is current, on a GPU with a cache of so many bytes. nullptr: there is no device memory left for
// it.
std::unique_ptr<Image> make_image(std::span<const BlockRange> ranges, uint64_t cache_size);

}  // namespace mneme::device::cuda
