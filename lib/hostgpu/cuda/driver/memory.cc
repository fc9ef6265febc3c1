// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory, as far as its functions are no other's: copies whose direction is not said, copies and fills of rows and
// boxes, structures that HIP has otherwise, and what is known of pointers.
#include <cstring>

#include "hostgpu/cuda/driver/boxes.h"
#include "hostgpu/cuda/versions.h"

namespace mneme::hostgpu::cuda::driver {
namespace {

BoxSide as_box(const RowsSide& side) {
  return {side.x, side.y, 0, 0, side.type, side.host, side.device, side.array, nullptr, side.pitch, 0};
}
BoxCopy as_box(const RowsCopy& copy) { return {as_box(copy.from), as_box(copy.to), copy.width, copy.height, 1}; }

Result copy_box(const BoxCopy* copy, hipError_t (*make)(const hipMemcpy3DParms*, hipStream_t), hipStream_t stream) {
  hipMemcpy3DParms box{};
  if (Result status = as_hip(copy, box)) return status;
  return answer([&] { return make(&box, stream); });
}
Result copy_rows(const RowsCopy* rows, hipError_t (*make)(const hipMemcpy3DParms*, hipStream_t), hipStream_t stream) {
  if (!rows) return kInvalidValue;
  BoxCopy box = as_box(*rows);
  return copy_box(&box, make, stream);
}
hipError_t at_once(const hipMemcpy3DParms* box, hipStream_t) { return hipMemcpy3D(box); }
hipError_t and_wait(const hipMemcpy3DParms* box, hipStream_t stream) {
  hipError_t status = hipMemcpy3DAsync(box, stream);
  return status == hipSuccess ? hipStreamSynchronize(stream) : status;
}

// ---- fills of rows ----

hipError_t fill(void* to, unsigned char value, size_t count, hipStream_t stream) {
  return hipMemsetD8Async(to, value, count, stream);
}
hipError_t fill(void* to, unsigned short value, size_t count, hipStream_t stream) {
  return hipMemsetD16Async(to, value, count, stream);
}
hipError_t fill(void* to, unsigned value, size_t count, hipStream_t stream) {
  return hipMemsetD32Async(to, static_cast<int>(value), count, stream);
}

template <class Value>
Result fill_rows(void* to, size_t pitch, Value value, size_t width, size_t height, hipStream_t stream,
                 bool wait = false) {
  if (height > 1 && (pitch < width * sizeof(Value) || pitch % sizeof(Value))) return kInvalidValue;
  return answer([&] {
    auto* row = static_cast<char*>(to);
    for (size_t y = 0; y < height; ++y, row += pitch) {
      if (hipError_t status = fill(row, value, width, stream); status != hipSuccess) return status;
    }
    return wait ? hipStreamSynchronize(stream) : hipSuccess;
  });
}

// ---- pointers ----

// HIP counts types of memory from the host's, which is 0.
int type_of(hipMemoryType type) { return type == hipMemoryTypeHost ? kHostMemory : kDeviceMemory; }

hipError_t pointer_attribute(void* data, int which, void* pointer) {
  hipError_t status = hipSuccess;
  if (which == HIP_POINTER_ATTRIBUTE_MEMORY_TYPE) {
    hipMemoryType type = hipMemoryTypeHost;
    status = hipPointerGetAttribute(data ? &type : nullptr, HIP_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer);
    if (status == hipSuccess) *static_cast<int*>(data) = type_of(type);
    return status;
  }
  if (which == HIP_POINTER_ATTRIBUTE_CONTEXT) {
    int device = 0;
    status = hipPointerGetAttribute(data ? &device : nullptr, HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer);
    if (status == hipSuccess) status = hipDevicePrimaryCtxRetain(static_cast<Context*>(data), device);
    return status == hipSuccess ? hipDevicePrimaryCtxRelease(device) : status;
  }
  return hipPointerGetAttribute(data, static_cast<hipPointer_attribute>(which), pointer);
}

size_t bytes_of(int which) {
  switch (which) {
    case HIP_POINTER_ATTRIBUTE_CONTEXT:
    case HIP_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case HIP_POINTER_ATTRIBUTE_HOST_POINTER:
    case HIP_POINTER_ATTRIBUTE_BUFFER_ID:
    case HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case HIP_POINTER_ATTRIBUTE_RANGE_SIZE:
      return sizeof(uint64_t);
    case HIP_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case HIP_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return sizeof(int);
    default:
      return sizeof(bool);
  }
}

hipError_t default_pool(hipMemPool_t* pool, const hipMemLocation* location) {
  return location ? hipDeviceGetDefaultMemPool(pool, device_of(*location)) : hipErrorInvalidValue;
}

}  // namespace
}  // namespace mneme::hostgpu::cuda::driver

using namespace mneme::hostgpu::cuda::driver;
using mneme::hostgpu::cuda::as_hip;
using mneme::hostgpu::cuda::CopyAttributes;
using mneme::hostgpu::cuda::device_of;
using mneme::hostgpu::cuda::kInvalidValue;
using mneme::hostgpu::cuda::own_stream;
using mneme::hostgpu::cuda::stream_of;

extern "C" {

// ---- copies ----

Result cuMemcpy(void* to, const void* from, size_t size) {
  return forward<hipMemcpy>(to, from, size, hipMemcpyDefault);
}
Result cuMemcpy_ptds(void* to, const void* from, size_t size) {
  return forward_and_wait<hipMemcpyAsync>(to, from, size, hipMemcpyDefault);
}
Result cuMemcpyAsync(void* to, const void* from, size_t size, hipStream_t stream) {
  return forward<hipMemcpyAsync>(to, from, size, hipMemcpyDefault, stream);
}
Result cuMemcpyAsync_ptsz(void* to, const void* from, size_t size, hipStream_t stream) {
  return forward_by_thread<hipMemcpyAsync>(to, from, size, hipMemcpyDefault, stream);
}
// Every device reaches every address.
Result cuMemcpyPeer(void* to, Context, const void* from, Context, size_t size) { return cuMemcpy(to, from, size); }
Result cuMemcpyPeer_ptds(void* to, Context, const void* from, Context, size_t size) {
  return cuMemcpy_ptds(to, from, size);
}
Result cuMemcpyPeerAsync(void* to, Context, const void* from, Context, size_t size, hipStream_t stream) {
  return cuMemcpyAsync(to, from, size, stream);
}
Result cuMemcpyPeerAsync_ptsz(void* to, Context, const void* from, Context, size_t size, hipStream_t stream) {
  return cuMemcpyAsync_ptsz(to, from, size, stream);
}

Result cuMemcpy2D_v2(const RowsCopy* copy) { return copy_rows(copy, at_once, nullptr); }
Result cuMemcpy2D_v2_ptds(const RowsCopy* copy) { return copy_rows(copy, and_wait, hipStreamPerThread); }
Result cuMemcpy2DUnaligned_v2(const RowsCopy* copy) { return copy_rows(copy, at_once, nullptr); }
Result cuMemcpy2DUnaligned_v2_ptds(const RowsCopy* copy) { return copy_rows(copy, and_wait, hipStreamPerThread); }
Result cuMemcpy2DAsync_v2(const RowsCopy* copy, hipStream_t stream) {
  return copy_rows(copy, hipMemcpy3DAsync, stream_of(stream));
}
Result cuMemcpy2DAsync_v2_ptsz(const RowsCopy* copy, hipStream_t stream) {
  return copy_rows(copy, hipMemcpy3DAsync, own_stream(stream));
}
Result cuMemcpy3D_v2(const BoxCopy* copy) { return copy_box(copy, at_once, nullptr); }
Result cuMemcpy3D_v2_ptds(const BoxCopy* copy) { return copy_box(copy, and_wait, hipStreamPerThread); }
Result cuMemcpy3DAsync_v2(const BoxCopy* copy, hipStream_t stream) {
  return copy_box(copy, hipMemcpy3DAsync, stream_of(stream));
}
Result cuMemcpy3DAsync_v2_ptsz(const BoxCopy* copy, hipStream_t stream) {
  return copy_box(copy, hipMemcpy3DAsync, own_stream(stream));
}

Result cuMemcpy3DPeer(const BoxCopy* copy) { return cuMemcpy3D_v2(copy); }
Result cuMemcpy3DPeer_ptds(const BoxCopy* copy) { return cuMemcpy3D_v2_ptds(copy); }
Result cuMemcpy3DPeerAsync(const BoxCopy* copy, hipStream_t stream) { return cuMemcpy3DAsync_v2(copy, stream); }
Result cuMemcpy3DPeerAsync_ptsz(const BoxCopy* copy, hipStream_t stream) {
  return cuMemcpy3DAsync_v2_ptsz(copy, stream);
}

Result cuMemcpyBatchAsync_v2(void* const* to, const void* const* from, const size_t* sizes, size_t count,
                             const CopyAttributes* attributes, const size_t* starts, size_t attribute_count,
                             hipStream_t stream) {
  return answer([&] {
    return copy_batch(to, from, sizes, count, attributes, starts, attribute_count, nullptr, stream_of(stream));
  });
}
Result cuMemcpyBatchAsync_v2_ptsz(void* const* to, const void* const* from, const size_t* sizes, size_t count,
                                  const CopyAttributes* attributes, const size_t* starts, size_t attribute_count,
                                  hipStream_t stream) {
  return answer([&] {
    return copy_batch(to, from, sizes, count, attributes, starts, attribute_count, nullptr, own_stream(stream));
  });
}
Result cuMemcpyBatchAsync(void* const* to, const void* const* from, const size_t* sizes, size_t count,
                          const CopyAttributes* attributes, const size_t* starts, size_t attribute_count,
                          size_t* failed, hipStream_t stream) {
  return answer([&] {
    return copy_batch(to, from, sizes, count, attributes, starts, attribute_count, failed, stream_of(stream));
  });
}
Result cuMemcpyBatchAsync_ptsz(void* const* to, const void* const* from, const size_t* sizes, size_t count,
                               const CopyAttributes* attributes, const size_t* starts, size_t attribute_count,
                               size_t* failed, hipStream_t stream) {
  return answer([&] {
    return copy_batch(to, from, sizes, count, attributes, starts, attribute_count, failed, own_stream(stream));
  });
}

// ---- fills ----

#define FILLS(bits, Value)                                                                               \
  Result cuMemsetD2D##bits##_v2(void* to, size_t pitch, Value value, size_t width, size_t height) {      \
    return fill_rows(to, pitch, value, width, height, nullptr, true);                                    \
  }                                                                                                      \
  Result cuMemsetD2D##bits##_v2_ptds(void* to, size_t pitch, Value value, size_t width, size_t height) { \
    return fill_rows(to, pitch, value, width, height, hipStreamPerThread, true);                         \
  }                                                                                                      \
  Result cuMemsetD2D##bits##Async(void* to, size_t pitch, Value value, size_t width, size_t height,      \
                                  hipStream_t stream) {                                                  \
    return fill_rows(to, pitch, value, width, height, stream_of(stream));                                \
  }                                                                                                      \
  Result cuMemsetD2D##bits##Async_ptsz(void* to, size_t pitch, Value value, size_t width, size_t height, \
                                       hipStream_t stream) {                                             \
    return fill_rows(to, pitch, value, width, height, own_stream(stream));                               \
  }
FILLS(8, unsigned char)
FILLS(16, unsigned short)
FILLS(32, unsigned)

// ---- places, pools, and memory behind addresses of the program's ----

Result cuMemAdvise_v2(const void* pointer, size_t size, int what, hipMemLocation location) {
  return answer([&] { return mneme::hostgpu::cuda::advise(pointer, size, what, device_of(location)); });
}
Result cuMemPrefetchAsync_v2(const void* pointer, size_t size, hipMemLocation location, unsigned, hipStream_t stream) {
  return forward<hipMemPrefetchAsync>(pointer, size, device_of(location), stream);
}
Result cuMemPrefetchAsync_v2_ptsz(const void* pointer, size_t size, hipMemLocation location, unsigned,
                                  hipStream_t stream) {
  return forward_by_thread<hipMemPrefetchAsync>(pointer, size, device_of(location), stream);
}
Result cuMemGetDefaultMemPool(hipMemPool_t* pool, const hipMemLocation* location, int) {
  return forward<default_pool>(pool, location);
}

Result cuMemCreate(hipMemGenericAllocationHandle_t* handle, size_t size, const MemoryProperties* properties,
                   unsigned long long flags) {
  if (!properties) return kInvalidValue;
  hipMemAllocationProp hips{};
  hips.type = static_cast<hipMemAllocationType>(properties->type);
  hips.requestedHandleType = static_cast<hipMemAllocationHandleType>(properties->handle_types);
  hips.location = as_hip(properties->location);
  return answer([&] { return hipMemCreate(handle, size, &hips, flags); });
}
Result cuMemGetAllocationGranularity(size_t* size, const MemoryProperties* properties, int which) {
  if (!properties) return kInvalidValue;
  hipMemAllocationProp hips{};
  hips.type = static_cast<hipMemAllocationType>(properties->type);
  hips.location = as_hip(properties->location);
  return answer([&] {
    return hipMemGetAllocationGranularity(size, &hips, static_cast<hipMemAllocationGranularity_flags>(which));
  });
}
Result cuMemGetAllocationPropertiesFromHandle(MemoryProperties* properties, hipMemGenericAllocationHandle_t handle) {
  if (!properties) return kInvalidValue;
  hipMemAllocationProp hips{};
  *properties = {};
  Result status = answer([&] { return hipMemGetAllocationPropertiesFromHandle(&hips, handle); });
  properties->type = hips.type;
  properties->handle_types = hips.requestedHandleType;
  properties->location = {hips.location.type, hips.location.id};
  return status;
}

// ---- pointers ----

Result cuPointerGetAttribute(void* data, int which, void* pointer) {
  return answer([&] { return pointer_attribute(data, which, pointer); });
}
// Only SYNC_MEMOPS can be set. It promises what holds anyway: a synchronous copy is done when its call returns.
Result cuPointerSetAttribute(const void* value, int which, void* pointer) {
  hipMemoryType type = hipMemoryTypeHost;
  if (!value || which != HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS) return kInvalidValue;
  return forward<hipPointerGetAttribute>(&type, HIP_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer);
}
// Attributes that a pointer lacks are zero. Memory that the driver did not give out lacks all of them.
Result cuPointerGetAttributes(unsigned count, const int* which, void** data, void* pointer) {
  if (!count || !which || !data) return kInvalidValue;
  return answer([&] {
    for (unsigned i = 0; i < count; ++i) {
      if (!data[i]) return hipErrorInvalidValue;
      hipError_t status = pointer_attribute(data[i], which[i], pointer);
      if (status == hipErrorNotSupported) return status;
      if (status != hipSuccess) std::memset(data[i], 0, bytes_of(which[i]));
    }
    return hipSuccess;
  });
}

}  // extern "C"
