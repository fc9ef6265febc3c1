// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace mneme::record::hip {

// As many as the runtime has, and at least one.
int count_devices();
inline bool has_several_devices() { return count_devices() > 1; }

// Makes a device the thread's for as long as it lives.
class OnDevice {
 public:
  explicit OnDevice(int device);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = -1;
};

}  // namespace mneme::record::hip
