// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What CUDA 13 has otherwise than CUDA 12: for libcudart.so.13.
#include "hostgpu/cuda/versions.h"

using namespace mneme::hostgpu::cuda;
using Node = hipGraphNode_t;

extern "C" {

Error cudaDriverGetVersion(int* version) { return tell_version(version, 13000); }
Error cudaRuntimeGetVersion(int* version) { return tell_version(version, 13000); }

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

Error cudaGraphAddDependencies(hipGraph_t graph, const Node* from, const Node* to, const void* data, size_t count) {
  return add_dependencies(graph, from, to, data, count);
}
Error cudaGraphGetEdges(hipGraph_t graph, Node* from, Node* to, EdgeData* data, size_t* count) {
  return edges(graph, from, to, data, count);
}

}  // extern "C"
