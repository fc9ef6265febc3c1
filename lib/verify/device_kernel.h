// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <memory>

#include "device/device.h"
#include "verify/element_kernel.h"

namespace mneme::verify {

// Compares on the device (kernels/compare.cc), which is borrowed. Throws Error for one that has no comparison kernels.
// On the host no better level of x86-64 than this is used, and none that the machine lacks.
std::unique_ptr<ElementKernel> make_device_kernel(device::Device& device, unsigned best_level = 4);

// Compares memory of a device with an image of what is expected there, chunk by chunk.
class ImageKernel {
 public:
  virtual ~ImageKernel() = default;

  // The chunks of memory from this address on, a multiple of an element's size, or of half a complex one's.
  virtual void compare(ElementType type, Measure measure, device::Image& expected, uint64_t address,
                       std::span<ChunkErrors> out) = 0;
};

// By the same kernels, compiled for the device, which is borrowed; each is loaded when it is wanted. nullptr: there are
// none for it.
std::unique_ptr<ImageKernel> make_image_kernel(device::Device& device);
// What is loaded for NVIDIA's GPUs: PTX, which ends with the text.
Bytes cuda_kernel(ElementType type, bool scaled);

}  // namespace mneme::verify
