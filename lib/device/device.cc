// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/device.h"

#include "base/error.h"
#include "device/hip/hip_device.h"

namespace mneme::device {

std::vector<BlockRange> device_ranges(const bundle::BundleInfo& recording) {
  std::vector<BlockRange> ranges;
  for (const bundle::AddressRange& range : recording.ranges) {
    if (range.name != "host") ranges.push_back({range.base, range.size});
  }
  return ranges;
}

void refuse_textures(const Launch& launch) {
  if (launch.textures.empty()) return;
  throw Error("the launch has textures or surfaces of a CUDA program, and only NVIDIA's GPUs have those: run it there");
}

std::unique_ptr<Device> make_device(const std::string& name) {
  if (name == "host" || name == "auto") return make_host_device();
  if (name == "cuda") return make_cuda_device();
  if (name == "hip") return make_hip_device();
  throw Error::of("there is no device '{}'; the devices are auto, host, cuda and hip", name);
}

}  // namespace mneme::device
