// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/hip/devices.h"

#include "recorder/runtime/hook.h"

namespace mneme::record::hip {

CALL(int, hipGetDeviceCount, int*)
CALL(int, hipGetDevice, int*)
CALL(int, hipSetDevice, int)
CALL(int, hipDeviceSynchronize)
CALL(int, hipGetLastError)
CALL(const char*, hipGetErrorString, int)
CALL(int, hipEventCreateWithFlags, void**, unsigned)
CALL(int, hipEventRecord, void*, void*)
CALL(int, hipEventSynchronize, void*)
CALL(int, hipEventQuery, void*)
CALL(int, hipEventElapsedTime, float*, void*, void*)
CALL(int, hipEventDestroy, void*)
CALL(int, hipMemcpyAsync, void*, const void*, size_t, int, void*)
CALL(int, hipMemsetAsync, void*, int, size_t, void*)
CALL(int, hipStreamCreateWithFlags, void**, unsigned)
CALL(int, hipStreamDestroy, void*)
CALL(int, hipStreamSynchronize, void*)
CALL(int, hipStreamWaitEvent, void*, void*, unsigned)
CALL(int, hipStreamIsCapturing, void*, int*)
CALL(int, hipThreadExchangeStreamCaptureMode, int*)
CALL(int, hipDeviceGetLimit, size_t*, int)
CALL(int, hipHostRegister, void*, size_t, unsigned)
CALL(int, hipHostUnregister, void*)

int HipDevices::set(int device) const { return next::hipSetDevice(device); }
int HipDevices::get_count(int* count) const { return next::hipGetDeviceCount(count); }
int HipDevices::get(int* device) const { return next::hipGetDevice(device); }
int HipDevices::synchronize() const { return next::hipDeviceSynchronize(); }
const char* HipDevices::error_string(int error) const { return next::hipGetErrorString(error); }
int HipDevices::create_event(void** event, unsigned flags) const { return next::hipEventCreateWithFlags(event, flags); }
int HipDevices::record_event(void* event, void* stream) const { return next::hipEventRecord(event, stream); }
int HipDevices::synchronize_event(void* event) const { return next::hipEventSynchronize(event); }
int HipDevices::query_event(void* event) const { return next::hipEventQuery(event); }
int HipDevices::elapsed(float* milliseconds, void* start, void* stop) const {
  return next::hipEventElapsedTime(milliseconds, start, stop);
}
int HipDevices::destroy_event(void* event) const { return next::hipEventDestroy(event); }
int HipDevices::copy_async(void* to, const void* from, size_t size, int kind, void* stream) const {
  return next::hipMemcpyAsync(to, from, size, kind, stream);
}
int HipDevices::set_async(void* at, int value, size_t size, void* stream) const {
  return next::hipMemsetAsync(at, value, size, stream);
}
int HipDevices::create_stream(void** stream, unsigned flags) const {
  return next::hipStreamCreateWithFlags(stream, flags);
}
int HipDevices::destroy_stream(void* stream) const { return next::hipStreamDestroy(stream); }
int HipDevices::synchronize_stream(void* stream) const { return next::hipStreamSynchronize(stream); }
int HipDevices::wait_for_event(void* stream, void* event) const { return next::hipStreamWaitEvent(stream, event, 0); }
int HipDevices::is_capturing(void* stream, int* capturing) const {
  return next::hipStreamIsCapturing(stream, capturing);
}
int HipDevices::exchange_capture_mode(int* mode) const { return next::hipThreadExchangeStreamCaptureMode(mode); }
int HipDevices::get_limit(size_t* value, int limit) const { return next::hipDeviceGetLimit(value, limit); }
int HipDevices::register_host(void* memory, size_t size, unsigned flags) const {
  return next::hipHostRegister(memory, size, flags);
}
int HipDevices::unregister_host(void* memory) const { return next::hipHostUnregister(memory); }
void HipDevices::forget_error() const { next::hipGetLastError(); }

// The device that was the thread's, and 1; 0: it was this one, or there is no other.
int HipDevices::enter(int device) const {
  int before = 0;
  if (!several() || !succeeds(get(&before))) return 0;
  return before != device && succeeds(set(device)) ? before + 1 : 0;
}
void HipDevices::leave(int entered) const {
  if (entered > 0) succeeds(set(entered - 1));
}

}  // namespace mneme::record::hip
