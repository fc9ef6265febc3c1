// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The driver itself, devices and contexts, as far as these are no other function's. A context stands for its device, as
// HIP's do.
#include <algorithm>

#include "hostgpu/cuda/driver/driver.h"

namespace mneme::hostgpu::cuda::driver {
namespace {

constexpr int kVersion = 13000;
constexpr unsigned kContextVersion = 3020;  // of the interface, as the driver says since then

// While it lives, this context is the thread's, if there is such a one.
class Within {
 public:
  explicit Within(Context context) : status_(hipCtxPushCurrent(context)) {}
  ~Within() {
    Context gone = nullptr;
    if (status_ == hipSuccess) static_cast<void>(hipCtxPopCurrent(&gone));
  }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;
  hipError_t status() const { return status_; }

 private:
  hipError_t status_;
};

hipError_t within(Context context, hipError_t (*body)()) {
  Within it(context);
  return it.status() == hipSuccess ? body() : it.status();
}

hipError_t context_of(hipStream_t stream, Context* context) {
  if (!context) return hipErrorInvalidValue;
  int device = hipGetStreamDeviceId(stream), before = 0;
  if (device < 0) return hipErrorInvalidHandle;
  hipError_t status = hipGetDevice(&before);
  if (status == hipSuccess) status = hipSetDevice(device);
  if (status == hipSuccess) status = hipCtxGetCurrent(context);
  static_cast<void>(hipSetDevice(before));
  return status;
}

}  // namespace
}  // namespace mneme::hostgpu::cuda::driver

using namespace mneme::hostgpu::cuda::driver;
using mneme::hostgpu::cuda::kInvalidValue;
using mneme::hostgpu::cuda::kNotSupported;
using mneme::hostgpu::cuda::own_stream;
using mneme::hostgpu::cuda::stream_of;

extern "C" {

Result cuInit(unsigned flags) { return flags ? kInvalidValue : forward<hipInit>(flags); }

Result cuDriverGetVersion(int* version) {
  if (!version) return kInvalidValue;
  *version = kVersion;
  return 0;
}

// HIP counts them from zero.
Result cuDeviceGetP2PAttribute(int* value, int which, int from, int to) {
  return answer([&] { return hipDeviceGetP2PAttribute(value, static_cast<hipDeviceP2PAttr>(which - 1), from, to); });
}

Result cuProfilerStart() { return 0; }
Result cuProfilerStop() { return 0; }

// ---- contexts ----

// It is there from the beginning, and current.
Result cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  Result status = forward<hipDevicePrimaryCtxGetState>(device, flags, active);
  if (status == 0) *active = 1;
  return status;
}

// Contexts for some of the multiprocessors, or for other clients, are not there.
Result cuCtxCreate_v3(Context* context, const void*, int count, unsigned flags, int device) {
  return count ? kNotSupported : forward<hipCtxCreate>(context, flags, device);
}
Result cuCtxCreate_v4(Context* context, const void* parameters, unsigned flags, int device) {
  return parameters ? kNotSupported : forward<hipCtxCreate>(context, flags, device);
}

Result cuCtxGetApiVersion(Context context, unsigned* version) {
  if (!version) return kInvalidValue;
  *version = kContextVersion;
  return context ? answer([&] { return within(context, [] { return hipSuccess; }); }) : 0;
}

// Its address, which no other context has as long as it lives.
Result cuCtxGetId(Context context, unsigned long long* id) {
  if (!id) return kInvalidValue;
  return answer([&] {
    Context there = context;
    hipError_t status = context ? within(context, [] { return hipSuccess; }) : hipCtxGetCurrent(&there);
    *id = reinterpret_cast<uintptr_t>(there);
    return status;
  });
}

Result cuCtxGetDevice_v2(int* device, Context context) {
  if (!device) return kInvalidValue;
  return answer([&] {
    if (!context) return hipCtxGetDevice(device);
    Within it(context);
    return it.status() == hipSuccess ? hipCtxGetDevice(device) : it.status();
  });
}

Result cuCtxSynchronize_v2(Context context) {
  return answer([&] { return context ? within(context, hipCtxSynchronize) : hipCtxSynchronize(); });
}

Result cuCtxResetPersistingL2Cache() { return 0; }

Result cuStreamGetCtx(hipStream_t stream, Context* context) {
  return answer([&] { return context_of(stream_of(stream), context); });
}
Result cuStreamGetCtx_ptsz(hipStream_t stream, Context* context) {
  return answer([&] { return context_of(own_stream(stream), context); });
}
// There are no green contexts, so that a stream is of none.
Result cuStreamGetCtx_v2(hipStream_t stream, Context* context, void** green) {
  if (green) *green = nullptr;
  return cuStreamGetCtx(stream, context);
}
Result cuStreamGetCtx_v2_ptsz(hipStream_t stream, Context* context, void** green) {
  if (green) *green = nullptr;
  return cuStreamGetCtx_ptsz(stream, context);
}

}  // extern "C"
