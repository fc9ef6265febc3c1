// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "device/cuda/driver.h"

namespace mneme::device::cuda {

// Memory of the GPU's, wherever it puts it.
class DeviceMemory {
 public:
  explicit DeviceMemory(size_t bytes) : size_(bytes) {
    if (driver().cuMemAlloc_v2(&address_, bytes) != 0) address_ = 0;
  }
  ~DeviceMemory() {
    if (address_) driver().cuMemFree_v2(address_);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  size_t size() const { return size_; }
  Address address() const { return address_; }  // 0: there was not enough

 private:
  size_t size_;
  Address address_ = 0;
};

}  // namespace mneme::device::cuda
