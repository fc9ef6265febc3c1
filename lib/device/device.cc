// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/device.h"

#include "base/error.h"

namespace mneme::device {

std::unique_ptr<Device> make_device(const std::string& name) {
  if (name == "host" || name == "auto") return make_host_device();
  if (name == "cuda") return make_cuda_device();
  if (name == "hip") {
    throw Error(
        "this version replays on the host and on NVIDIA's GPUs only, not on 'hip': it makes code for AMD's GPUs, but "
        "does "
        "not run it; mneme-compile --target host compiles the same recording for the CPU",
        Exit::kMissing);
  }
  throw Error::of("there is no device '{}'; the devices are auto, host, cuda and hip", name);
}

}  // namespace mneme::device
