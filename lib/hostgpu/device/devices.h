// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The devices there are: as many as MNEME_HOST_DEVICES says, one unless given. All are this machine's processors; each
// has memory, streams and variables of its own.
#pragma once

namespace mneme::hostgpu {

inline constexpr int kMostDevices = 8;

int device_count();
void check_device(int device);  // throws HipError(hipErrorInvalidDevice)

// The calling thread's.
int current_device();
void set_current_device(int device);

// Makes another one the thread's for as long as it lives.
class OnDevice {
 public:
  explicit OnDevice(int device) : before_(current_device()) { set_current_device(device); }
  ~OnDevice() { set_current_device(before_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_;
};

}  // namespace mneme::hostgpu
