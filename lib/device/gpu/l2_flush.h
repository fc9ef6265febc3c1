// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <optional>

#include "device/gpu/device_memory.h"

namespace mneme::device::gpu {

// Empties a GPU's L2 cache.
class L2Flush {
 public:
  explicit L2Flush(Gpu& gpu) : gpu_(gpu) {}
  // Fills it with what no kernel reads. Throws Error.
  void empty();

 private:
  Gpu& gpu_;
  std::optional<DeviceMemory> filler_;
};

}  // namespace mneme::device::gpu
