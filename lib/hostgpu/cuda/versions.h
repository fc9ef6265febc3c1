// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What versions of CUDA's runtime do alike with structures and parameters that differ.
#pragma once
#include <algorithm>
#include <cstring>
#include <vector>

#include "hostgpu/cuda/cuda.h"

namespace mneme::hostgpu::cuda {

template <class Properties>
void describe(const hipDeviceProp_t& hips, Properties& ours) {
  static_assert(sizeof ours.name == sizeof hips.name);
  std::memcpy(ours.name, hips.name, sizeof ours.name);
  ours.total_memory = hips.totalGlobalMem;
  ours.shared_per_block = hips.sharedMemPerBlock;
  ours.registers_per_block = hips.regsPerBlock;
  ours.warp_size = hips.warpSize;
  ours.memory_pitch = hips.memPitch;
  ours.max_threads_per_block = hips.maxThreadsPerBlock;
  std::ranges::copy(hips.maxThreadsDim, ours.max_threads_dim);
  std::ranges::copy(hips.maxGridSize, ours.max_grid_size);
  ours.total_const_memory = hips.totalConstMem;
  ours.major = hips.major;
  ours.minor = hips.minor;
  ours.texture_alignment = hips.textureAlignment;
  ours.texture_pitch_alignment = hips.texturePitchAlignment;
  ours.multiprocessors = hips.multiProcessorCount;
  ours.integrated = hips.integrated;
  ours.can_map_host_memory = hips.canMapHostMemory;
  ours.max_texture_1d = hips.maxTexture1D;
  std::ranges::copy(hips.maxTexture2D, ours.max_texture_2d);
  std::ranges::copy(hips.maxTexture3D, ours.max_texture_3d);
  ours.concurrent_kernels = hips.concurrentKernels;
  ours.pci_bus = hips.pciBusID;
  ours.pci_device = hips.pciDeviceID;
  ours.pci_domain = hips.pciDomainID;
  ours.async_engines = 2;
  ours.unified_addressing = 1;
  ours.memory_bus_width = hips.memoryBusWidth;
  ours.l2_size = hips.l2CacheSize;
  ours.max_threads_per_multiprocessor = hips.maxThreadsPerMultiProcessor;
  ours.stream_priorities = 1;
  ours.global_l1 = ours.local_l1 = 1;
  ours.shared_per_multiprocessor = hips.maxSharedMemoryPerMultiProcessor;
  ours.registers_per_multiprocessor = hips.regsPerBlock;
  ours.managed_memory = hips.managedMemory;
  ours.host_native_atomics = 1;
  ours.pageable_memory_access = hips.pageableMemoryAccess;
  ours.concurrent_managed_access = hips.concurrentManagedAccess;
  ours.host_pointer_for_registered = 1;
  ours.cooperative_launch = hips.cooperativeLaunch;
  ours.pageable_by_host_page_tables = hips.pageableMemoryAccessUsesHostPageTables;
  ours.direct_managed_access_from_host = hips.directManagedMemAccessFromHost;
  ours.max_blocks_per_multiprocessor = 32;
  ours.host_register = 1;
  ours.memory_pools = 1;
}

template <class Properties>
Error device_properties(Properties* properties, int device) {
  hipDeviceProp_t hips{};
  hipError_t status = hipGetDeviceProperties(properties ? &hips : nullptr, device);
  if (status != hipSuccess) return error(status);
  *properties = {};
  describe(hips, *properties);
  int optin = 0, reserved = 0;
  static_cast<void>(hipDeviceGetAttribute(&optin, hipDeviceAttributeSharedMemPerBlockOptin, device));
  static_cast<void>(hipDeviceGetAttribute(&reserved, hipDeviceAttributeReservedSharedMemPerBlock, device));
  properties->shared_per_block_optin = static_cast<size_t>(optin);
  properties->reserved_shared_per_block = static_cast<size_t>(reserved);
  return error(hipDeviceGetUuid(reinterpret_cast<hipUUID*>(properties->uuid), device));
}

// Memory that was never registered is no error here.
template <class Attributes>
Error pointer_attributes(Attributes* attributes, const void* pointer) {
  if (!attributes) return kInvalidValue;
  *attributes = {};
  hipPointerAttribute_t hips{};
  hipError_t before = hipPeekAtLastError();
  if (hipPointerGetAttributes(&hips, pointer) != hipSuccess) {
    if (before == hipSuccess) static_cast<void>(hipGetLastError());
    attributes->type = kUnregistered;
    attributes->device = -2;  // cudaInvalidDeviceId
    attributes->host_pointer = const_cast<void*>(pointer);
    return 0;
  }
  attributes->type = hips.isManaged ? kManaged : hips.memoryType == hipMemoryTypeHost ? kHost : kDevice;
  attributes->device = hips.device;
  attributes->device_pointer = hips.devicePointer;
  attributes->host_pointer = hips.hostPointer;
  return 0;
}

// graph_additions.cc: a node of any kind. Edges with data are refused.
Error add_any_node(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* before, const void* edges,
                   size_t count, vendor::cuda::AnyNode* parameters);

inline Error advise(const void* pointer, size_t size, int what, int device) {
  return error(hipMemAdvise(pointer, size, static_cast<hipMemoryAdvise>(what), device));
}
inline Error prefetch(const void* pointer, size_t size, int device, hipStream_t stream) {
  return error(hipMemPrefetchAsync(pointer, size, device, stream));
}
inline Error add_dependencies(hipGraph_t graph, const hipGraphNode_t* from, const hipGraphNode_t* to, const void* data,
                              size_t count) {
  return data ? kNotSupported : error(hipGraphAddDependencies(graph, from, to, count));
}
// `data` has room for *count edges, each of which is a plain one: all zeros.
inline Error edges(hipGraph_t graph, hipGraphNode_t* from, hipGraphNode_t* to, EdgeData* data, size_t* count) {
  hipError_t status = hipGraphGetEdges(graph, from, to, count);
  if (status == hipSuccess && data) std::fill_n(data, *count, EdgeData{});
  return error(status);
}
// `starts` has the first copy of each run of copies with the same attributes. `failed`, unless null, becomes the number
// of the copy that is wrong, or SIZE_MAX where the whole call is.
inline Error copy_batch(void* const* to, const void* const* from, const size_t* sizes, size_t count,
                        const CopyAttributes* attributes, const size_t* starts, size_t attribute_count, size_t* failed,
                        hipStream_t stream) {
  if (failed) *failed = SIZE_MAX;
  bool listed = to && from && sizes && count && attributes && starts && attribute_count && attribute_count <= count;
  if (!stream || !listed || starts[0] != 0) return kInvalidValue;
  for (size_t i = 0; i < count; ++i) {
    hipError_t status = hipMemcpyAsync(to[i], from[i], sizes[i], hipMemcpyDefault, stream);
    if (failed && status != hipSuccess) *failed = i;
    if (status != hipSuccess) return error(status);
  }
  auto is_read_now = [](const CopyAttributes& one) { return one.source_order == kDuringCall; };
  bool wait = std::any_of(attributes, attributes + attribute_count, is_read_now);
  return wait ? error(hipStreamSynchronize(stream)) : 0;
}

// How far the capture of a stream has got. The edges that lead to the next node are plain ones; the list stays until
// the thread asks again.
inline Error capture_info(hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id, hipGraph_t* graph,
                          const hipGraphNode_t** after, const EdgeData** edges, size_t* count) {
  size_t found = 0;
  hipError_t result = hipStreamGetCaptureInfo_v2(stream, status, id, graph, after, &found);
  if (result != hipSuccess || *status != hipStreamCaptureStatusActive) return error(result);
  thread_local std::vector<EdgeData> plain;
  plain.assign(found, {});
  if (edges) *edges = plain.data();
  if (count) *count = found;
  return 0;
}

// The driver's function that a program of this version of CUDA means by `symbol`.
Error driver_entry(const char* symbol, void** function, int version, unsigned long long flags, int* status);
inline constexpr unsigned long long kEntryPerThread = 2;  // cudaEnablePerThreadDefaultStream

inline Error tell_version(int* version, int number) {
  if (!version) return kInvalidValue;
  *version = number;
  return 0;
}

}  // namespace mneme::hostgpu::cuda
