// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What CUDA 12 has otherwise than CUDA 13: for libcudart.so.12. The names that end in _v2 do as CUDA 13's without.
#include "hostgpu/cuda/versions.h"

namespace mneme::hostgpu::cuda {
namespace {

struct DeviceProperties12 {  // cudaDeviceProp
  char name[256];
  char uuid[16];
  char luid[8];
  unsigned luid_device_node_mask;
  size_t total_memory, shared_per_block;
  int registers_per_block, warp_size;
  size_t memory_pitch;
  int max_threads_per_block, max_threads_dim[3], max_grid_size[3], clock_rate;
  size_t total_const_memory;
  int major, minor;
  size_t texture_alignment, texture_pitch_alignment;
  int device_overlap, multiprocessors, kernel_timeout, integrated, can_map_host_memory, compute_mode;
  int max_texture_1d, max_texture_1d_mipmap, max_texture_1d_linear, max_texture_2d[2], max_texture_2d_mipmap[2],
      max_texture_2d_linear[3];
  int max_texture_2d_gather[2], max_texture_3d[3], max_texture_3d_alt[3], max_texture_cubemap;
  int max_texture_1d_layered[2], max_texture_2d_layered[3], max_texture_cubemap_layered[2];
  int max_surface_1d, max_surface_2d[2], max_surface_3d[3], max_surface_1d_layered[2], max_surface_2d_layered[3];
  int max_surface_cubemap, max_surface_cubemap_layered[2];
  size_t surface_alignment;
  int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc, async_engines, unified_addressing;
  int memory_clock_rate, memory_bus_width, l2_size, persisting_l2_size, max_threads_per_multiprocessor,
      stream_priorities;
  int global_l1, local_l1;
  size_t shared_per_multiprocessor;
  int registers_per_multiprocessor, managed_memory, multi_gpu_board, multi_gpu_board_group, host_native_atomics;
  int double_precision_ratio;
  int pageable_memory_access, concurrent_managed_access, compute_preemption, host_pointer_for_registered;
  int cooperative_launch, cooperative_multi_device_launch;
  size_t shared_per_block_optin;
  int pageable_by_host_page_tables, direct_managed_access_from_host, max_blocks_per_multiprocessor;
  int access_policy_window;
  size_t reserved_shared_per_block;
  int host_register, sparse_arrays, host_register_read_only, timeline_semaphores, memory_pools, gpu_direct_rdma;
  unsigned gpu_direct_flush_options;
  int gpu_direct_ordering;
  unsigned pool_handle_types;
  int deferred_mapping_arrays, ipc_events, cluster_launch, unified_function_pointers;
  int reserved[63];
};
static_assert(sizeof(DeviceProperties12) == 1032);
static_assert(offsetof(DeviceProperties12, multiprocessors) == 388);
static_assert(offsetof(DeviceProperties12, surface_alignment) == 568);
static_assert(offsetof(DeviceProperties12, shared_per_multiprocessor) == 640);
static_assert(offsetof(DeviceProperties12, cooperative_launch) == 688);
static_assert(offsetof(DeviceProperties12, memory_pools) == 744);
static_assert(offsetof(DeviceProperties12, cluster_launch) == 772);

constexpr int kVersion = 12090;

struct PointerAttributes12 {  // cudaPointerAttributes
  int type;
  int device;
  void* device_pointer;
  void* host_pointer;
};

}  // namespace
}  // namespace mneme::hostgpu::cuda

using namespace mneme::hostgpu::cuda;
using Node = hipGraphNode_t;

extern "C" {

Error cudaDriverGetVersion(int* version) { return tell_version(version, kVersion); }
Error cudaRuntimeGetVersion(int* version) { return tell_version(version, kVersion); }
Error cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags, int* status) {
  return driver_entry(symbol, function, kVersion, flags, status);
}
Error cudaGetDriverEntryPoint_ptsz(const char* symbol, void** function, unsigned long long flags, int* status) {
  return driver_entry(symbol, function, kVersion, flags ? flags : kEntryPerThread, status);
}

Error cudaGetDeviceProperties_v2(DeviceProperties12* properties, int device) {
  Error status = device_properties(properties, device);
  if (status != 0) return status;
  hipDeviceProp_t hips{};
  status = error(hipGetDeviceProperties(&hips, device));
  properties->clock_rate = hips.clockRate;
  properties->memory_clock_rate = hips.memoryClockRate;
  properties->device_overlap = 1;
  properties->kernel_timeout = hips.kernelExecTimeoutEnabled;
  properties->compute_mode = hips.computeMode;
  return status;
}
Error cudaPointerGetAttributes(PointerAttributes12* attributes, const void* pointer) {
  return pointer_attributes(attributes, pointer);
}

Error cudaMemAdvise(const void* pointer, size_t size, int what, int device) {
  return advise(pointer, size, what, device);
}
Error cudaMemAdvise_v2(const void* pointer, size_t size, int what, hipMemLocation location) {
  return advise(pointer, size, what, device_of(location));
}
Error cudaMemPrefetchAsync(const void* pointer, size_t size, int device, hipStream_t stream) {
  return prefetch(pointer, size, device, stream_of(stream));
}
Error cudaMemPrefetchAsync_ptsz(const void* pointer, size_t size, int device, hipStream_t stream) {
  return prefetch(pointer, size, device, own_stream(stream));
}
Error cudaMemPrefetchAsync_v2(const void* pointer, size_t size, hipMemLocation location, unsigned, hipStream_t stream) {
  return prefetch(pointer, size, device_of(location), stream_of(stream));
}
Error cudaMemPrefetchAsync_v2_ptsz(const void* pointer, size_t size, hipMemLocation location, unsigned,
                                   hipStream_t stream) {
  return prefetch(pointer, size, device_of(location), own_stream(stream));
}

Error cudaMemcpyBatchAsync(void** to, void** from, size_t* sizes, size_t count, CopyAttributes* attributes,
                           size_t* starts, size_t attribute_count, size_t* failed, hipStream_t stream) {
  return copy_batch(to, from, sizes, count, attributes, starts, attribute_count, failed, stream_of(stream));
}
Error cudaMemcpyBatchAsync_ptsz(void** to, void** from, size_t* sizes, size_t count, CopyAttributes* attributes,
                                size_t* starts, size_t attribute_count, size_t* failed, hipStream_t stream) {
  return copy_batch(to, from, sizes, count, attributes, starts, attribute_count, failed, own_stream(stream));
}

Error cudaEventElapsedTime_v2(float* milliseconds, hipEvent_t start, hipEvent_t end) {
  return error(hipEventElapsedTime(milliseconds, start, end));
}

Error cudaStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id) {
  return capture_info(stream_of(stream), status, id, nullptr, nullptr, nullptr, nullptr);
}
Error cudaStreamGetCaptureInfo_ptsz(hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id) {
  return capture_info(own_stream(stream), status, id, nullptr, nullptr, nullptr, nullptr);
}
Error cudaStreamGetCaptureInfo_v2(hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id,
                                  hipGraph_t* graph, const Node** after, size_t* count) {
  return capture_info(stream_of(stream), status, id, graph, after, nullptr, count);
}
Error cudaStreamGetCaptureInfo_v2_ptsz(hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id,
                                       hipGraph_t* graph, const Node** after, size_t* count) {
  return capture_info(own_stream(stream), status, id, graph, after, nullptr, count);
}
Error cudaStreamGetCaptureInfo_v3(hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id,
                                  hipGraph_t* graph, const Node** after, const EdgeData** edges, size_t* count) {
  return capture_info(stream_of(stream), status, id, graph, after, edges, count);
}
Error cudaStreamGetCaptureInfo_v3_ptsz(hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id,
                                       hipGraph_t* graph, const Node** after, const EdgeData** edges, size_t* count) {
  return capture_info(own_stream(stream), status, id, graph, after, edges, count);
}

Error cudaGraphAddNode(Node* node, hipGraph_t graph, const Node* before, size_t count,
                       mneme::vendor::cuda::AnyNode* parameters) {
  return add_any_node(node, graph, before, nullptr, count, parameters);
}
Error cudaGraphAddNode_v2(Node* node, hipGraph_t graph, const Node* before, const void* edges, size_t count,
                          mneme::vendor::cuda::AnyNode* parameters) {
  return add_any_node(node, graph, before, edges, count, parameters);
}
Error cudaGraphAddDependencies(hipGraph_t graph, const Node* from, const Node* to, size_t count) {
  return add_dependencies(graph, from, to, nullptr, count);
}
Error cudaGraphAddDependencies_v2(hipGraph_t graph, const Node* from, const Node* to, const void* data, size_t count) {
  return add_dependencies(graph, from, to, data, count);
}
Error cudaGraphGetEdges(hipGraph_t graph, Node* from, Node* to, size_t* count) {
  return edges(graph, from, to, nullptr, count);
}
Error cudaGraphGetEdges_v2(hipGraph_t graph, Node* from, Node* to, EdgeData* data, size_t* count) {
  return edges(graph, from, to, data, count);
}

}  // extern "C"
