// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Streams and events, as far as their functions are no other's: with parameters that HIP's have not, or older ones.
#include "hostgpu/cuda/driver/driver.h"
#include "hostgpu/cuda/versions.h"

using namespace mneme::hostgpu::cuda::driver;
using mneme::hostgpu::cuda::EdgeData;
using mneme::hostgpu::cuda::kNotSupported;
using mneme::hostgpu::cuda::own_stream;
using mneme::hostgpu::cuda::stream_of;

using Node = hipGraphNode_t;

namespace {

// Of the words that are compared, all bits count.
Result wait_32(hipStream_t stream, void* address, uint32_t value, unsigned flags) {
  return answer([&] { return hipStreamWaitValue32(stream, address, value, flags, ~uint32_t{0}); });
}
Result wait_64(hipStream_t stream, void* address, uint64_t value, unsigned flags) {
  return answer([&] { return hipStreamWaitValue64(stream, address, value, flags, ~uint64_t{0}); });
}

Result what_is_captured(hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id, hipGraph_t* graph,
                        const Node** after, const EdgeData** edges, size_t* count) {
  return answer([&] { return mneme::hostgpu::cuda::capture_info(stream, status, id, graph, after, edges, count); });
}

Result update_capture(hipStream_t stream, Node* nodes, const EdgeData* edges, size_t count, unsigned flags) {
  if (edges) return kNotSupported;
  return answer([&] { return hipStreamUpdateCaptureDependencies(stream, nodes, count, flags); });
}

}  // namespace

extern "C" {

Result cuStreamWaitValue32_v2(hipStream_t stream, void* address, uint32_t value, unsigned flags) {
  return wait_32(stream_of(stream), address, value, flags);
}
Result cuStreamWaitValue32_v2_ptsz(hipStream_t stream, void* address, uint32_t value, unsigned flags) {
  return wait_32(own_stream(stream), address, value, flags);
}
Result cuStreamWaitValue64_v2(hipStream_t stream, void* address, uint64_t value, unsigned flags) {
  return wait_64(stream_of(stream), address, value, flags);
}
Result cuStreamWaitValue64_v2_ptsz(hipStream_t stream, void* address, uint64_t value, unsigned flags) {
  return wait_64(own_stream(stream), address, value, flags);
}

Result cuStreamGetCaptureInfo_v3(hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id,
                                 hipGraph_t* graph, const Node** after, const EdgeData** edges, size_t* count) {
  return what_is_captured(stream_of(stream), status, id, graph, after, edges, count);
}
Result cuStreamGetCaptureInfo_v3_ptsz(hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id,
                                      hipGraph_t* graph, const Node** after, const EdgeData** edges, size_t* count) {
  return what_is_captured(own_stream(stream), status, id, graph, after, edges, count);
}
Result cuStreamUpdateCaptureDependencies_v2(hipStream_t stream, Node* nodes, const EdgeData* edges, size_t count,
                                            unsigned flags) {
  return update_capture(stream_of(stream), nodes, edges, count, flags);
}
Result cuStreamUpdateCaptureDependencies_v2_ptsz(hipStream_t stream, Node* nodes, const EdgeData* edges, size_t count,
                                                 unsigned flags) {
  return update_capture(own_stream(stream), nodes, edges, count, flags);
}

}  // extern "C"
