// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/device.h"

#include "base/error.h"

namespace mneme::device {

std::unique_ptr<Device> make_device(const std::string& name) {
  if (name == "host" || name == "auto") return make_host_device();
  if (name == "cuda" || name == "hip") {
    throw Error::of(Exit::kMissing, "this version replays on the host only, not on '{}'; use --device host", name);
  }
  throw Error::of("there is no device '{}'; the devices are auto, host, cuda and hip", name);
}

}  // namespace mneme::device
