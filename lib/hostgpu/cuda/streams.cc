// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Streams and events, and graphs made of streams.
#include "hostgpu/cuda/cuda.h"
#include "hostgpu/extensions.h"

using namespace mneme::hostgpu::cuda;

extern "C" {

Error cudaStreamCreate(hipStream_t* stream) { return error(hipStreamCreate(stream)); }
Error cudaStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
  return error(hipStreamCreateWithFlags(stream, flags));
}
Error cudaStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority) {
  return error(hipStreamCreateWithPriority(stream, flags, priority));
}
Error cudaStreamDestroy(hipStream_t stream) { return error(hipStreamDestroy(stream)); }
Error cudaStreamSynchronize(hipStream_t stream) { return error(hipStreamSynchronize(stream_of(stream))); }
Error cudaStreamQuery(hipStream_t stream) { return error(hipStreamQuery(stream_of(stream))); }
Error cudaStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags) {
  return error(hipStreamWaitEvent(stream_of(stream), event, flags));
}
Error cudaStreamGetFlags(hipStream_t stream, unsigned* flags) {
  return error(hipStreamGetFlags(stream_of(stream), flags));
}
Error cudaStreamGetPriority(hipStream_t stream, int* priority) {
  return error(hipStreamGetPriority(stream_of(stream), priority));
}
Error cudaStreamGetDevice(hipStream_t stream, int* device) {
  if (!device) return error(hipErrorInvalidValue);
  *device = hipGetStreamDeviceId(stream_of(stream));
  return error(*device < 0 ? hipErrorInvalidHandle : hipSuccess);
}
Error cudaStreamGetId(hipStream_t stream, unsigned long long* id) {
  return mneme_hostgpu_stream_id(stream_of(stream), id);
}
// HIP's callback has the same form.
Error cudaStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void* data, unsigned flags) {
  return error(hipStreamAddCallback(stream_of(stream), callback, data, flags));
}
Error cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return error(hipDeviceGetStreamPriorityRange(least, greatest));
}
Error cudaStreamAttachMemAsync(hipStream_t stream, void* pointer, size_t size, unsigned flags) {
  return error(hipStreamAttachMemAsync(stream_of(stream), pointer, size, flags));
}

Error cudaStreamBeginCapture(hipStream_t stream, int mode) {
  return error(hipStreamBeginCapture(stream, static_cast<hipStreamCaptureMode>(mode)));
}
Error cudaStreamEndCapture(hipStream_t stream, hipGraph_t* graph) { return error(hipStreamEndCapture(stream, graph)); }
Error cudaStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
  return error(hipStreamIsCapturing(stream_of(stream), status));
}
Error cudaThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  return error(hipThreadExchangeStreamCaptureMode(mode));
}

Error cudaEventCreate(hipEvent_t* event) { return error(hipEventCreate(event)); }
Error cudaEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  return error(hipEventCreateWithFlags(event, flags));
}
Error cudaEventDestroy(hipEvent_t event) { return error(hipEventDestroy(event)); }
Error cudaEventRecord(hipEvent_t event, hipStream_t stream) { return error(hipEventRecord(event, stream_of(stream))); }
// The one flag makes the record a node of a captured graph that other graphs can wait for: there is none here.
Error cudaEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned flags) {
  return flags ? kNotSupported : cudaEventRecord(event, stream);
}
Error cudaEventSynchronize(hipEvent_t event) { return error(hipEventSynchronize(event)); }
Error cudaEventQuery(hipEvent_t event) { return error(hipEventQuery(event)); }
Error cudaEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t end) {
  return error(hipEventElapsedTime(milliseconds, start, end));
}

}  // extern "C"
