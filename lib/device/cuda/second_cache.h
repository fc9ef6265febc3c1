// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <optional>

#include "device/cuda/device_memory.h"

namespace mneme::device::cuda {

// The cache that all of a GPU's kernels share, in front of its memory.
class SecondCache {
 public:
  explicit SecondCache(int device) : device_(device) {}
  // Fills it with what no kernel reads. Throws Error.
  void empty();

 private:
  int device_;
  size_t size_ = 0;
  std::optional<DeviceMemory> filler_;
};

}  // namespace mneme::device::cuda
