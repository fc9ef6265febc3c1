// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "recorder/runtime/devices.h"
#include "vendor/hip/api.h"

namespace mneme::record::hip {

using namespace vendor::hip;

inline constexpr char kLibrary[] = "libamdhip64.so.5";
consteval const char* library_of(const char*) { return kLibrary; }

inline constinit const Devices devices{kLibrary, "hip"};

inline bool succeeds(int status) { return devices.succeeds(status); }

struct OnDevice : Entered {
  explicit OnDevice(int device) : Entered(devices, device) {}
};

}  // namespace mneme::record::hip
