// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <optional>

#include "device/gpu/device_memory.h"

namespace mneme::device::gpu {

// The cache that all of a GPU's kernels share, in front of its memory.
class SecondCache {
 public:
  explicit SecondCache(Gpu& gpu) : gpu_(gpu) {}
  // Fills it with what no kernel reads. Throws Error.
  void empty();

 private:
  Gpu& gpu_;
  std::optional<DeviceMemory> filler_;
};

}  // namespace mneme::device::gpu
