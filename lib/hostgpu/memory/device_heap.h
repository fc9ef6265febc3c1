// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The heap from which kernels allocate: one a process, whichever fat binary they come from.
#pragma once
#include <cstddef>

#include "device/host/heap/device_heap.h"
#include "hostgpu/hip.h"

namespace mneme::hostgpu {

// Bytes. Twice what CUDA gives, unless $MNEME_HOST_HEAP names another number of MiB, or more was asked for.
size_t device_heap_size();
// There are to be so many. False: too many, or it was made with fewer.
bool ask_device_heap(size_t bytes);

// Made when first asked for, through hipMalloc as everybody calls it, so that in a recorded process the memory is the
// recorder's. Throws HipError when there is no memory for it.
device::host::DeviceHeap& make_device_heap();
// Null: it has not been made.
device::host::DeviceHeap* device_heap();

}  // namespace mneme::hostgpu
