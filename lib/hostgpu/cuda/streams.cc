// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Streams and events, and graphs made of streams.
#include "hostgpu/cuda/cuda.h"
#include "hostgpu/extensions.h"

using namespace mneme::hostgpu::cuda;

extern "C" {

Error cudaStreamGetDevice(hipStream_t stream, int* device) {
  if (!device) return error(hipErrorInvalidValue);
  *device = hipGetStreamDeviceId(stream_of(stream));
  return error(*device < 0 ? hipErrorInvalidHandle : hipSuccess);
}
Error cudaStreamGetId(hipStream_t stream, unsigned long long* id) {
  return mneme_hostgpu_stream_id(stream_of(stream), id);
}

// The one flag makes the record a node of a captured graph that other graphs can wait for: there is none here.
Error cudaEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned flags) {
  return flags ? kNotSupported : error(hipEventRecord(event, stream_of(stream)));
}

}  // extern "C"
