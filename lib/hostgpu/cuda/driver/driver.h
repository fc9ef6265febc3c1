// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CUDA's driver interface (13.x), as far as it differs from HIP's and from CUDA's runtime: handles of streams, events,
// graphs, modules and functions are HIP's; addresses are numbers, which are passed as pointers are. Declared here so
// that no toolkit is needed to build; shapes_test.cc compares it with the toolkit's headers where there is one.
#pragma once
#include <tuple>

#include "hostgpu/cuda/cuda.h"
#include "hostgpu/extensions.h"

namespace mneme::hostgpu::cuda::driver {

using Result = int;  // CUresult
using vendor::cuda::DriverKernelNode, vendor::cuda::DriverLaunchConfig, vendor::cuda::MemoryProperties;
inline constexpr Result kInvalidHandle = 400, kNotFound = 500;

using Context = hipCtx_t;
using Module = hipModule_t;
using Function = hipFunction_t;  // or CUkernel: both are HIP's function

// CUDA_MEMCPY2D and CUDA_MEMCPY3D.
inline constexpr int kHostMemory = 1, kDeviceMemory = 2, kArrayMemory = 3, kUnifiedMemory = 4;  // CUmemorytype
struct RowsSide {
  size_t x, y;  // x in bytes
  int type;
  void* host;
  void* device;
  void* array;
  size_t pitch;
};
struct RowsCopy {
  RowsSide from, to;
  size_t width, height;  // the width in bytes
};
struct BoxSide {
  size_t x, y, z, level;
  int type;
  void* host;
  void* device;
  void* array;
  void* reserved;  // a context, where copies are between devices
  size_t pitch, height;
};
struct BoxCopy {
  BoxSide from, to;
  size_t width, height, depth;
};

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

template <auto Function>
struct Signature;
template <class Result, class... Parameters, Result (*Function)(Parameters...)>
struct Signature<Function> {
  static constexpr size_t kCount = sizeof...(Parameters);
  template <size_t I>
  using Parameter = std::tuple_element_t<I, std::tuple<Parameters...>>;
};
template <auto Function, size_t I>
using Parameter = typename Signature<Function>::template Parameter<I>;

template <class Any>
Any passed(Any argument) {
  return argument;
}
inline hipStream_t passed(hipStream_t stream) { return stream_of(stream); }
template <class Any>
Any passed_by_thread(Any argument) {
  return argument;
}
inline hipStream_t passed_by_thread(hipStream_t stream) { return own_stream(stream); }

template <auto Function, class... Arguments>
Result forward(Arguments... arguments) {
  return answer([&] { return Function(passed(arguments)...); });
}
// Of a program for which null is the calling thread's own stream.
template <auto Function, class... Arguments>
Result forward_by_thread(Arguments... arguments) {
  return answer([&] { return Function(passed_by_thread(arguments)...); });
}
// In that stream, and done: `Function` takes a stream last.
template <auto Function, class... Arguments>
Result forward_and_wait(Arguments... arguments) {
  return answer([&] {
    auto status = Function(arguments..., hipStreamPerThread);
    return status ? status : static_cast<decltype(status)>(hipStreamSynchronize(hipStreamPerThread));
  });
}

}  // namespace mneme::hostgpu::cuda::driver
