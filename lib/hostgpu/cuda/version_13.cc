// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What CUDA 13 has otherwise than CUDA 12: for libcudart.so.13.
#include "hostgpu/cuda/versions.h"

using namespace mneme::hostgpu::cuda;
using Node = hipGraphNode_t;

namespace {
constexpr int kVersion = 13000;
}

extern "C" {

Error cudaDriverGetVersion(int* version) { return tell_version(version, kVersion); }
Error cudaRuntimeGetVersion(int* version) { return tell_version(version, kVersion); }
Error cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags, int* status) {
  return driver_entry(symbol, function, kVersion, flags, status);
}
Error cudaGetDriverEntryPoint_ptsz(const char* symbol, void** function, unsigned long long flags, int* status) {
  return driver_entry(symbol, function, kVersion, flags ? flags : kEntryPerThread, status);
}

Error cudaGetDeviceProperties(DeviceProperties* properties, int device) {
  return device_properties(properties, device);
}
Error cudaPointerGetAttributes(PointerAttributes* attributes, const void* pointer) {
  return pointer_attributes(attributes, pointer);
}

Error cudaMemAdvise(const void* pointer, size_t size, int what, hipMemLocation location) {
  return advise(pointer, size, what, device_of(location));
}
Error cudaMemPrefetchAsync(const void* pointer, size_t size, hipMemLocation location, unsigned, hipStream_t stream) {
  return prefetch(pointer, size, device_of(location), stream_of(stream));
}
Error cudaMemPrefetchAsync_ptsz(const void* pointer, size_t size, hipMemLocation location, unsigned,
                                hipStream_t stream) {
  return prefetch(pointer, size, device_of(location), own_stream(stream));
}

Error cudaMemcpyBatchAsync(void* const* to, const void* const* from, const size_t* sizes, size_t count,
                           CopyAttributes* attributes, size_t* starts, size_t attribute_count, hipStream_t stream) {
  return copy_batch(to, from, sizes, count, attributes, starts, attribute_count, nullptr, stream_of(stream));
}
Error cudaMemcpyBatchAsync_ptsz(void* const* to, const void* const* from, const size_t* sizes, size_t count,
                                CopyAttributes* attributes, size_t* starts, size_t attribute_count,
                                hipStream_t stream) {
  return copy_batch(to, from, sizes, count, attributes, starts, attribute_count, nullptr, own_stream(stream));
}

Error cudaStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id,
                               hipGraph_t* graph, const Node** after, const EdgeData** edges, size_t* count) {
  return capture_info(stream_of(stream), status, id, graph, after, edges, count);
}
Error cudaStreamGetCaptureInfo_ptsz(hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id,
                                    hipGraph_t* graph, const Node** after, const EdgeData** edges, size_t* count) {
  return capture_info(own_stream(stream), status, id, graph, after, edges, count);
}

Error cudaGraphAddNode(Node* node, hipGraph_t graph, const Node* before, const void* edges, size_t count,
                       mneme::vendor::cuda::AnyNode* parameters) {
  return add_any_node(node, graph, before, edges, count, parameters);
}
Error cudaGraphAddDependencies(hipGraph_t graph, const Node* from, const Node* to, const void* data, size_t count) {
  return add_dependencies(graph, from, to, data, count);
}
Error cudaGraphGetEdges(hipGraph_t graph, Node* from, Node* to, EdgeData* data, size_t* count) {
  return edges(graph, from, to, data, count);
}

}  // extern "C"
