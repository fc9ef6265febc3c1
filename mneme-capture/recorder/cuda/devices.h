// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "recorder/runtime/devices.h"
#include "vendor/cuda/api.h"

namespace mneme::record::cuda {

using namespace vendor::cuda;
using vendor::cuda::Kernel;  // the message to the parent has the name, too

inline constexpr char kLibrary[] = "libcudart.so.13";
inline constexpr char kDriver[] = "libcuda.so.1";
// The driver's functions are cuMemAlloc, …, the runtime's cudaMalloc and __cudaLaunchKernel.
consteval const char* library_of(const char* name) {
  return name[0] == 'c' && name[1] == 'u' && name[2] < 'a' ? kDriver : kLibrary;
}

inline constinit const Devices devices{kLibrary, "cuda"};

inline bool succeeds(int status) { return devices.succeeds(status); }

struct OnDevice : Entered {
  explicit OnDevice(int device) : Entered(devices, device) {}
};

}  // namespace mneme::record::cuda
