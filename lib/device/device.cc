// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/device.h"

#include <algorithm>
#include <string_view>

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

void refuse_unknown_handles(const bundle::KernelInfo& kernel, const bundle::InstanceInfo& instance) {
  if (!bundle::uses(kernel, bundle::kTextures) || !instance.textures.empty()) return;
  if (!has_ir(kernel) && kernel.handles.empty()) return;  // not even its PTX tells: its instance does
  auto is_unknown = [&](const bundle::Handle& handle) {
    if (handle.argument < 0) return true;
    const auto bytes = std::string_view(instance.arguments).substr(static_cast<size_t>(handle.argument), 8);
    return std::ranges::any_of(bytes, [](char byte) { return byte != 0; });  // 0 is none, which it does not use
  };
  if (!kernel.handles.empty() && std::ranges::none_of(kernel.handles, is_unknown)) return;
  throw Error(
      "the recording has only the handles of the textures or surfaces that the kernel uses: run a recording of the "
      "CPU on the CPU");
}

void refuse_textures(const Launch& launch) {
  if (launch.textures.empty()) return;
  throw Error(
      "the launch has textures or surfaces of a CUDA program, which AMD's GPUs do not have: run it on an NVIDIA GPU or "
      "the CPU");
}

std::unique_ptr<Device> make_device(const std::string& name) {
  if (name == "host" || name == "auto") return make_host_device();
  if (name == "cuda") return make_cuda_device();
  if (name == "hip") return make_hip_device();
  throw Error::of("there is no device '{}'; the devices are auto, host, cuda and hip", name);
}

}  // namespace mneme::device
