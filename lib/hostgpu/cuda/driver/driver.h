// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CUDA's driver interface (13.x), as far as it differs from HIP's and from CUDA's runtime: handles of streams, events,
// graphs, modules and functions are HIP's; addresses are numbers, which are passed as pointers are. Declared here so
// that no toolkit is needed to build; shapes_test.cc compares it with the toolkit's headers where there is one.
#pragma once
#include "hostgpu/cuda/forward.h"
#include "hostgpu/extensions.h"
#include "vendor/cuda/textures.h"

namespace mneme::hostgpu::cuda::driver {

using Result = int;  // CUresult
using vendor::cuda::DriverKernelNode, vendor::cuda::DriverLaunchConfig, vendor::cuda::MemoryProperties;
inline constexpr Result kInvalidHandle = 400, kNotFound = 500;

using Context = hipCtx_t;
using Module = hipModule_t;
using Function = hipFunction_t;  // or CUkernel: both are HIP's function

using vendor::cuda::kArrayMemory, vendor::cuda::kDeviceMemory, vendor::cuda::kHostMemory;
// CUDA_MEMCPY2D and CUDA_MEMCPY3D.
struct RowsSide {
  size_t x, y;  // x in bytes
  int type;
  const void* host;
  vendor::cuda::Address device;
  void* array;
  size_t pitch;
};
struct RowsCopy {
  RowsSide from, to;
  size_t width, height;  // the width in bytes
};
using BoxSide = vendor::cuda::CopySide;
using BoxCopy = vendor::cuda::Copy;

// HIP's numbers are the driver's where both have them; the rest are the runtime's.
Result result(hipError_t status);
inline Result result(Error status) { return result(static_cast<hipError_t>(status)); }

// The driver's errors are none of the runtime's: while it lives, cudaGetLastError's is kept aside.
class OwnErrors {
 public:
  OwnErrors() : runtimes_(mneme_hostgpu_exchange_error(hipSuccess)) {}
  ~OwnErrors() { mneme_hostgpu_exchange_error(runtimes_); }
  OwnErrors(const OwnErrors&) = delete;
  OwnErrors& operator=(const OwnErrors&) = delete;

 private:
  int runtimes_;
};

// The body of a function of the driver's.
template <class Body>
Result answer(const Body& body) {
  OwnErrors own;
  return result(body());
}

// ---- functions that only pass their arguments on (forwarded.def) ----

template <auto Function, class... Arguments>
Result forward(Arguments... arguments) {
  return answer([&] { return cuda::forward<Function>(arguments...); });
}
template <auto Function, class... Arguments>
Result forward_by_thread(Arguments... arguments) {
  return answer([&] { return cuda::forward_by_thread<Function>(arguments...); });
}
template <auto Function, class... Arguments>
Result forward_and_wait(Arguments... arguments) {
  return answer([&] { return cuda::forward_and_wait<Function>(arguments...); });
}

}  // namespace mneme::hostgpu::cuda::driver
