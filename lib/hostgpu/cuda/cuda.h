// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CUDA's runtime interface (13.x; what 12.x has otherwise is in version_12.cc) as far as it differs from HIP's: what is
// not here is the same in both, numbers of errors, copies and flags included. Declared here so that no toolkit is
// needed to build; cuda_test.cc compares it with the toolkit's headers where there is one.
#pragma once
#include "hostgpu/hip.h"
#include "vendor/cuda/api.h"

namespace mneme::hostgpu::cuda {

using Error = int;  // cudaError_t
using vendor::cuda::EdgeData, vendor::cuda::KernelNode, vendor::cuda::LaunchAttribute, vendor::cuda::LaunchConfig;
using vendor::cuda::PointerAttributes;

constexpr Error error(hipError_t status) { return static_cast<Error>(status); }

inline constexpr Error kInvalidValue = 1;
using vendor::kNotSupported;

// cudaStreamLegacy is HIP's null; cudaStreamPerThread has the same number in both.
inline hipStream_t stream_of(hipStream_t stream) {
  constexpr uintptr_t kLegacy = 1;
  return reinterpret_cast<uintptr_t>(stream) == kLegacy ? nullptr : stream;
}

// The same of a program for which null is the calling thread's own stream.
inline hipStream_t own_stream(hipStream_t stream) { return stream ? stream_of(stream) : hipStreamPerThread; }

inline dim3 as_hip(vendor::Dimensions size) { return {size.x, size.y, size.z}; }
inline vendor::Dimensions as_cuda(dim3 size) { return {size.x, size.y, size.z}; }
inline hipStream_t as_hip(vendor::Stream stream) { return reinterpret_cast<hipStream_t>(stream); }
inline hipMemLocation as_hip(vendor::Location place) { return {static_cast<hipMemLocationType>(place.type), place.id}; }

inline hipMemcpyKind kind_of(int kind) { return static_cast<hipMemcpyKind>(kind); }

// CUDA has a location where HIP has a device.
inline int device_of(const hipMemLocation& location) {
  constexpr int kDevice = 1;
  return location.type == kDevice ? location.id : hipCpuDeviceId;
}

// Attributes of streams, by the numbers that those of launches have.
inline constexpr int kStreamWindow = 1, kStreamSynchronization = 3, kStreamPriority = 8, kStreamDomains = 9;
inline constexpr int kStreamDomain = 10;

struct CopyAttributes {  // cudaMemcpyAttributes
  int source_order;
  hipMemLocation from, to;
  unsigned flags;
};
inline constexpr int kDuringCall = 2;  // cudaMemcpySrcAccessOrderDuringApiCall

inline constexpr int kUnregistered = 0, kHost = 1, kDevice = 2, kManaged = 3;  // cudaMemoryType…

struct FunctionAttributes {  // cudaFuncAttributes
  size_t shared_bytes, const_bytes, local_bytes;
  int max_threads, registers, ptx_version, binary_version, cache_mode, max_dynamic_shared, shared_carveout;
  int cluster[6];
  int reserved[16];
};

struct FillParameters {  // cudaMemsetParams
  void* to;
  size_t pitch;
  unsigned value, element;
  size_t width, height;
};

struct PoolProperties {  // cudaMemPoolProps
  int type;
  int handle_types;
  hipMemLocation location;
  void* win32_attributes;
  size_t most;
  unsigned short usage;
  unsigned char reserved[54];
};

struct UpdateResult {  // cudaGraphExecUpdateResultInfo
  int result;
  hipGraphNode_t node, from;
};

struct DeviceProperties {  // cudaDeviceProp
  char name[256];
  char uuid[16];
  char luid[8];
  unsigned luid_device_node_mask;
  size_t total_memory, shared_per_block;
  int registers_per_block, warp_size;
  size_t memory_pitch;
  int max_threads_per_block, max_threads_dim[3], max_grid_size[3];
  size_t total_const_memory;
  int major, minor;
  size_t texture_alignment, texture_pitch_alignment;
  int multiprocessors, integrated, can_map_host_memory;
  int max_texture_1d, max_texture_1d_mipmap, max_texture_2d[2], max_texture_2d_mipmap[2], max_texture_2d_linear[3];
  int max_texture_2d_gather[2], max_texture_3d[3], max_texture_3d_alt[3], max_texture_cubemap;
  int max_texture_1d_layered[2], max_texture_2d_layered[3], max_texture_cubemap_layered[2];
  int max_surface_1d, max_surface_2d[2], max_surface_3d[3], max_surface_1d_layered[2], max_surface_2d_layered[3];
  int max_surface_cubemap, max_surface_cubemap_layered[2];
  size_t surface_alignment;
  int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc, async_engines, unified_addressing;
  int memory_bus_width, l2_size, persisting_l2_size, max_threads_per_multiprocessor, stream_priorities;
  int global_l1, local_l1;
  size_t shared_per_multiprocessor;
  int registers_per_multiprocessor, managed_memory, multi_gpu_board, multi_gpu_board_group, host_native_atomics;
  int pageable_memory_access, concurrent_managed_access, compute_preemption, host_pointer_for_registered;
  int cooperative_launch;
  size_t shared_per_block_optin;
  int pageable_by_host_page_tables, direct_managed_access_from_host, max_blocks_per_multiprocessor;
  int access_policy_window;
  size_t reserved_shared_per_block;
  int host_register, sparse_arrays, host_register_read_only, timeline_semaphores, memory_pools, gpu_direct_rdma;
  unsigned gpu_direct_flush_options;
  int gpu_direct_ordering;
  unsigned pool_handle_types;
  int deferred_mapping_arrays, ipc_events, cluster_launch, unified_function_pointers, numa_config, numa_id, mps;
  int host_numa_id;
  unsigned pci_device_id, pci_subsystem_id;
  int host_numa_multinode_ipc;
  int reserved[56];
};

}  // namespace mneme::hostgpu::cuda
