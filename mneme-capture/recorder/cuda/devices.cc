// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/cuda/devices.h"

#include "recorder/runtime/hook.h"

namespace mneme::record::cuda {

CALL(int, cuInit, unsigned)
CALL(int, cuDeviceGetCount, int*)
CALL(int, cuDevicePrimaryCtxRetain, Context*, int)
CALL(int, cuDevicePrimaryCtxRelease_v2, int)
CALL(int, cuCtxGetCurrent, Context*)
CALL(int, cuCtxPushCurrent_v2, Context)
CALL(int, cuCtxPopCurrent_v2, Context*)
CALL(int, cuCtxGetDevice, int*)
CALL(int, cuCtxSynchronize)
CALL(int, cuCtxGetLimit, size_t*, int)
CALL(int, cuGetErrorString, int, const char**)
CALL(int, cuEventCreate, void**, unsigned)
CALL(int, cuEventRecord, void*, void*)
CALL(int, cuEventSynchronize, void*)
CALL(int, cuEventQuery, void*)
CALL(int, cuEventElapsedTime, float*, void*, void*)
CALL(int, cuEventDestroy_v2, void*)
CALL(int, cuMemcpyHtoDAsync_v2, Address, const void*, size_t, void*)
CALL(int, cuMemcpyDtoHAsync_v2, void*, Address, size_t, void*)
CALL(int, cuMemcpyAsync, Address, Address, size_t, void*)
CALL(int, cuMemsetD8Async, Address, unsigned char, size_t, void*)
CALL(int, cuStreamCreate, void**, unsigned)
CALL(int, cuStreamDestroy_v2, void*)
CALL(int, cuStreamSynchronize, void*)
CALL(int, cuStreamWaitEvent, void*, void*, unsigned)
CALL(int, cuStreamIsCapturing, void*, int*)
CALL(int, cuThreadExchangeStreamCaptureMode, int*)
CALL(int, cuMemHostRegister_v2, void*, size_t, unsigned)
CALL(int, cuMemHostUnregister, void*)

namespace {

Address address_of(const void* pointer) { return reinterpret_cast<Address>(pointer); }

}  // namespace

int CudaDevices::get_count(int* count) const {
  const int status = next::cuInit(0);
  return status == kSuccess ? next::cuDeviceGetCount(count) : status;
}
int CudaDevices::get(int* device) const { return next::cuCtxGetDevice(device); }
int CudaDevices::synchronize() const {
  const OnDevice here;
  return next::cuCtxSynchronize();
}
const char* CudaDevices::error_string(int error) const {
  const char* text = nullptr;
  return next::cuGetErrorString(error, &text) == kSuccess ? text : nullptr;
}
int CudaDevices::create_event(void** event, unsigned flags) const {
  const OnDevice here;
  return next::cuEventCreate(event, flags);
}
int CudaDevices::record_event(void* event, void* stream) const { return next::cuEventRecord(event, stream); }
int CudaDevices::synchronize_event(void* event) const { return next::cuEventSynchronize(event); }
int CudaDevices::query_event(void* event) const { return next::cuEventQuery(event); }
int CudaDevices::elapsed(float* milliseconds, void* start, void* stop) const {
  return next::cuEventElapsedTime(milliseconds, start, stop);
}
int CudaDevices::destroy_event(void* event) const { return next::cuEventDestroy_v2(event); }
int CudaDevices::copy_async(void* to, const void* from, size_t size, int kind, void* stream) const {
  if (kind == kHostToDevice) return next::cuMemcpyHtoDAsync_v2(address_of(to), from, size, stream);
  if (kind == kDeviceToHost) return next::cuMemcpyDtoHAsync_v2(to, address_of(from), size, stream);
  return next::cuMemcpyAsync(address_of(to), address_of(from), size, stream);
}
int CudaDevices::set_async(void* at, int value, size_t size, void* stream) const {
  return next::cuMemsetD8Async(address_of(at), static_cast<unsigned char>(value), size, stream);
}
int CudaDevices::create_stream(void** stream, unsigned flags) const {
  const OnDevice here;
  return next::cuStreamCreate(stream, flags);
}
int CudaDevices::destroy_stream(void* stream) const { return next::cuStreamDestroy_v2(stream); }
int CudaDevices::synchronize_stream(void* stream) const { return next::cuStreamSynchronize(stream); }
int CudaDevices::wait_for_event(void* stream, void* event) const { return next::cuStreamWaitEvent(stream, event, 0); }
int CudaDevices::is_capturing(void* stream, int* capturing) const {
  return next::cuStreamIsCapturing(stream, capturing);
}
int CudaDevices::exchange_capture_mode(int* mode) const { return next::cuThreadExchangeStreamCaptureMode(mode); }
int CudaDevices::get_limit(size_t* value, int limit) const {
  const OnDevice here;
  return next::cuCtxGetLimit(value, limit);
}
// For all contexts, in one that the application does not destroy: it may have several of one device.
int CudaDevices::register_host(void* memory, size_t size, unsigned flags) const {
  const Pushed here(primary_of(current()));
  return next::cuMemHostRegister_v2(memory, size, flags | kRegisterPortable);
}
int CudaDevices::unregister_host(void* memory) const {
  const Pushed here(primary_of(current()));
  return next::cuMemHostUnregister(memory);
}

Context CudaDevices::context() const {
  Context current = nullptr;
  return next::cuCtxGetCurrent(&current) == kSuccess ? current : nullptr;
}

Pushed::Pushed(Context context) : pushed_(context && next::cuCtxPushCurrent_v2(context) == kSuccess) {}
Pushed::~Pushed() {
  Context popped = nullptr;
  if (pushed_) next::cuCtxPopCurrent_v2(&popped);
}

int CudaDevices::enter(int device) const {
  if (context()) {
    int here = 0;
    if (!several() || (get(&here) == kSuccess && here == device)) return 0;
  }
  const Context primary = primary_of(device);
  return primary && next::cuCtxPushCurrent_v2(primary) == kSuccess ? 1 : 0;
}
void CudaDevices::leave(int entered) const {
  Context left = nullptr;
  if (entered) next::cuCtxPopCurrent_v2(&left);
}

Context CudaDevices::primary_of(int device) const {
  if (device < 0 || device >= kMost || next::cuInit(0) != kSuccess) return nullptr;
  if (Context known = primaries_[device].load(std::memory_order_acquire)) return known;
  Context primary = nullptr;
  if (next::cuDevicePrimaryCtxRetain(&primary, device) != kSuccess) return nullptr;
  // Of two threads one keeps it.
  if (primaries_[device].exchange(primary, std::memory_order_acq_rel)) next::cuDevicePrimaryCtxRelease_v2(device);
  return primary;
}

void CudaDevices::drop_primary(int device) const {
  if (device >= 0 && device < kMost) primaries_[device] = nullptr;
}

void CudaDevices::forget_primary(int device) const {
  if (device >= 0 && device < kMost && primaries_[device].exchange(nullptr)) next::cuDevicePrimaryCtxRelease_v2(device);
}

}  // namespace mneme::record::cuda
