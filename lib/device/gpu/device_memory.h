// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "device/gpu/gpu.h"

namespace mneme::device::gpu {

// Memory of the GPU's, wherever it puts it.
class DeviceMemory {
 public:
  DeviceMemory(Gpu& gpu, uint64_t bytes) : gpu_(gpu), size_(bytes), address_(gpu.allocate(bytes)) {}
  ~DeviceMemory() {
    if (address_) gpu_.release(address_);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  uint64_t size() const { return size_; }
  uint64_t address() const { return address_; }  // 0: there was not enough

 private:
  Gpu& gpu_;
  uint64_t size_;
  uint64_t address_;
};

}  // namespace mneme::device::gpu
