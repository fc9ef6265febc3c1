// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/host/services/images.h"

namespace mneme::device::host {

// The textures and surfaces of a launch that an NVIDIA GPU recorded, made anew over recorded memory. An array is its
// segment.
class Textures {
 public:
  // `check` throws Error for memory that is not mapped. Throws Error for what the host device does not have.
  Textures(const Launch& launch, const std::function<void(uint64_t address, uint64_t bytes)>& check);

  // Where the recorded handles lie; for as long as this lives.
  void put_handles(std::string& arguments) const;

 private:
  std::vector<TextureObject> objects_;
  std::vector<uint32_t> places_;  // of each one's handle in the arguments
};

}  // namespace mneme::device::host
