// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The heap from which kernels allocate: one a process, whichever fat binary they come from.
#pragma once
#include <cstddef>
#include <span>

#include "hostgpu/hip.h"

namespace mneme::hostgpu {

// Twice what CUDA gives, unless $MNEME_HOST_HEAP names another number of MiB.
size_t device_heap_size();

// Made when first asked for, through hipMalloc as everybody calls it, so that in a recorded process the memory is the
// recorder's. Throws HipError when there is no memory for it.
std::span<std::byte> make_device_heap();
// Empty: it has not been made.
std::span<std::byte> device_heap();

}  // namespace mneme::hostgpu
