// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "recorder/hip_api.h"

namespace mneme::record::hip {

// Whether it is well. What fails is an attempt of the recorder's, which the application is not to find as its own last
// error.
bool succeeds(Error status);

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
