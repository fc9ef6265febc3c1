// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <optional>

#include "device/cuda/device_memory.h"

namespace mneme::device::cuda {

// The cache that all of a GPU's kernels share, in front of its memory.
class SecondCache {
 public:
  explicit SecondCache(int device) : device_(device) {}
  // Fills it with what no kernel reads. Throws Error.
  void empty();
  uint64_t size() const;  // bytes; 0: the GPU does not say

 private:
  int device_;
  std::optional<DeviceMemory> filler_;
};

}  // namespace mneme::device::cuda
