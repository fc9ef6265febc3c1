// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/gpu/gpu.h"

#include "base/error.h"
#include "device/device.h"

namespace mneme::device::gpu {

bool Gpu::has_block_kernels() {
  if (loaded_) return *loaded_;
  try {
    load_block_kernels();
    loaded_ = true;
  } catch (const Error& error) {
    loaded_ = false;
    lack_images(error.what());
  }
  return *loaded_;
}

void Gpu::lack_images(const std::string& reason) {
  if (std::exchange(has_warned_, true)) return;
  warning_ = "memory is compared and restored by the host, which takes longer: " + reason;
}

void Gpu::warn(const Launch& launch) {
  if (launch.warn && !warning_.empty()) launch.warn(std::exchange(warning_, {}));
}

}  // namespace mneme::device::gpu
