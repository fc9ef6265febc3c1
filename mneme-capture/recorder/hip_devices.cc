// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/hip_devices.h"

#include <algorithm>

#include "recorder/hip_runtime.h"

namespace mneme::record::hip {
namespace {

constinit Next<Error(int*)> next_device_count(kLibrary, "hipGetDeviceCount");
constinit Next<Error(int*)> next_get_device(kLibrary, "hipGetDevice");
constinit Next<Error(int)> next_set_device(kLibrary, "hipSetDevice");

}  // namespace

int count_devices() {
  static const int count = [] {
    int found = 0;
    return next_device_count.call_or(kNotSupported, &found) == kSuccess ? std::max(found, 1) : 1;
  }();
  return count;
}

OnDevice::OnDevice(int device) {
  if (!has_several_devices()) return;
  next_get_device.call_or(kNotSupported, &before_);
  if (before_ == device || next_set_device.call_or(kNotSupported, device) != kSuccess) before_ = -1;
}

OnDevice::~OnDevice() {
  if (before_ >= 0) next_set_device.call_or(kNotSupported, before_);
}

}  // namespace mneme::record::hip
