// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/hip_devices.h"

#include <algorithm>

#include "recorder/hip_runtime.h"

namespace mneme::record::hip {
namespace {

constinit Next<Error(int*)> next_device_count(kLibrary, "hipGetDeviceCount");
constinit Next<Error(int*)> next_get_device(kLibrary, "hipGetDevice");
constinit Next<Error(int)> next_set_device(kLibrary, "hipSetDevice");
constinit Next<Error()> next_last_error(kLibrary, "hipGetLastError");

}  // namespace

bool succeeds(Error status) {
  if (status != kSuccess) next_last_error.call_or(kNotSupported);
  return status == kSuccess;
}

int count_devices() {
  static const int count = [] {
    int found = 0;
    return succeeds(next_device_count.call_or(kNotSupported, &found)) ? std::max(found, 1) : 1;
  }();
  return count;
}

OnDevice::OnDevice(int device) {
  if (!has_several_devices()) return;
  if (!succeeds(next_get_device.call_or(kNotSupported, &before_))) before_ = -1;
  if (before_ == device || !succeeds(next_set_device.call_or(kNotSupported, device))) before_ = -1;
}

OnDevice::~OnDevice() {
  if (before_ >= 0) succeeds(next_set_device.call_or(kNotSupported, before_));
}

}  // namespace mneme::record::hip
