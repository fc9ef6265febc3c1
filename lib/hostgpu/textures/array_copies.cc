// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies to and from arrays: as copies between memory with a pitch, which an array's memory is.
#include "hostgpu/errors.h"
#include "hostgpu/extensions.h"
#include "hostgpu/textures/arrays.h"

namespace mneme::hostgpu {
namespace {

// Bytes at (x, row y) of an array's first slice, if a box from there on lies inside.
std::byte* part(const ArrayMemory& memory, size_t x, size_t y, size_t width, size_t height) {
  require(x <= memory.pitch && width <= memory.pitch - x && y <= memory.height && height <= memory.height - y);
  return memory.data + y * memory.pitch + x;
}

// A run of bytes that may go over the ends of rows; rows follow each other without gaps.
std::byte* run(const ArrayMemory& memory, size_t x, size_t y, size_t size) {
  require(x <= memory.pitch && y <= memory.height);
  size_t offset = y * memory.pitch + x, whole = memory.slice * memory.depth;
  require(offset <= whole && size <= whole - offset);
  return memory.data + offset;
}

// Finds the array, then calls `copy`, whose answer counts.
template <typename Copy>
hipError_t with_array(hipArray_const_t array, const Copy& copy) {
  hipError_t result = hipSuccess;
  hipError_t found = answer_on_device([&] { result = copy(memory_of(array)); });
  return found == hipSuccess ? result : found;
}

hipError_t copy_to(hipArray* to, size_t x, size_t y, const void* from, size_t pitch, size_t width, size_t height,
                   hipMemcpyKind kind, hipStream_t stream, bool wait) {
  return with_array(to, [&](const ArrayMemory& memory) {
    std::byte* at = part(memory, x, y, width, height);
    return wait ? hipMemcpy2D(at, memory.pitch, from, pitch, width, height, kind)
                : hipMemcpy2DAsync(at, memory.pitch, from, pitch, width, height, kind, stream);
  });
}

hipError_t copy_from(void* to, size_t pitch, hipArray_const_t from, size_t x, size_t y, size_t width, size_t height,
                     hipMemcpyKind kind, hipStream_t stream, bool wait) {
  return with_array(from, [&](const ArrayMemory& memory) {
    std::byte* at = part(memory, x, y, width, height);
    return wait ? hipMemcpy2D(to, pitch, at, memory.pitch, width, height, kind)
                : hipMemcpy2DAsync(to, pitch, at, memory.pitch, width, height, kind, stream);
  });
}

void replace_array(hipArray_t& array, hipPos& at, hipPitchedPtr& memory, size_t& width) {
  if (!array) return;
  size_t texel = memory_of(array).format.bytes();
  memory = pitched_memory(array);
  at.x *= texel;
  width = texel;
  array = nullptr;
}

}  // namespace

hipPitchedPtr pitched_memory(hipArray_const_t array) {
  ArrayMemory memory = memory_of(array);
  return {memory.data, memory.pitch, memory.pitch, memory.height};
}

// With an array on either side the extent's width is in its texels, otherwise in bytes.
hipMemcpy3DParms without_arrays(hipMemcpy3DParms copy) {
  size_t texel = 1;
  replace_array(copy.srcArray, copy.srcPos, copy.srcPtr, texel);
  replace_array(copy.dstArray, copy.dstPos, copy.dstPtr, texel);
  copy.extent.width *= texel;
  return copy;
}

hip_Memcpy2D without_arrays(hip_Memcpy2D copy) {
  if (copy.srcMemoryType == hipMemoryTypeArray) {
    hipPitchedPtr memory = pitched_memory(copy.srcArray);
    copy.srcMemoryType = hipMemoryTypeDevice;
    copy.srcDevice = memory.ptr;
    copy.srcPitch = memory.pitch;
  }
  if (copy.dstMemoryType == hipMemoryTypeArray) {
    hipPitchedPtr memory = pitched_memory(copy.dstArray);
    copy.dstMemoryType = hipMemoryTypeDevice;
    copy.dstDevice = memory.ptr;
    copy.dstPitch = memory.pitch;
  }
  return copy;
}

HIP_MEMCPY3D without_arrays(HIP_MEMCPY3D copy) {
  if (copy.srcMemoryType == hipMemoryTypeArray) {
    hipPitchedPtr memory = pitched_memory(copy.srcArray);
    copy.srcMemoryType = hipMemoryTypeDevice;
    copy.srcDevice = memory.ptr;
    copy.srcPitch = static_cast<unsigned>(memory.pitch);
    copy.srcHeight = static_cast<unsigned>(memory.ysize);
  }
  if (copy.dstMemoryType == hipMemoryTypeArray) {
    hipPitchedPtr memory = pitched_memory(copy.dstArray);
    copy.dstMemoryType = hipMemoryTypeDevice;
    copy.dstDevice = memory.ptr;
    copy.dstPitch = static_cast<unsigned>(memory.pitch);
    copy.dstHeight = static_cast<unsigned>(memory.ysize);
  }
  return copy;
}

}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

hipError_t hipMemcpy2DToArray(hipArray* to, size_t x, size_t y, const void* from, size_t pitch, size_t width,
                              size_t height, hipMemcpyKind kind) {
  return copy_to(to, x, y, from, pitch, width, height, kind, nullptr, true);
}
hipError_t hipMemcpy2DToArray_spt(hipArray* to, size_t x, size_t y, const void* from, size_t pitch, size_t width,
                                  size_t height, hipMemcpyKind kind) {
  return copy_to(to, x, y, from, pitch, width, height, kind, nullptr, true);
}
hipError_t hipMemcpy2DToArrayAsync(hipArray* to, size_t x, size_t y, const void* from, size_t pitch, size_t width,
                                   size_t height, hipMemcpyKind kind, hipStream_t stream) {
  return copy_to(to, x, y, from, pitch, width, height, kind, stream, false);
}

hipError_t hipMemcpy2DFromArray(void* to, size_t pitch, hipArray_const_t from, size_t x, size_t y, size_t width,
                                size_t height, hipMemcpyKind kind) {
  return copy_from(to, pitch, from, x, y, width, height, kind, nullptr, true);
}
hipError_t hipMemcpy2DFromArray_spt(void* to, size_t pitch, hipArray_const_t from, size_t x, size_t y, size_t width,
                                    size_t height, hipMemcpyKind kind) {
  return copy_from(to, pitch, from, x, y, width, height, kind, nullptr, true);
}
hipError_t hipMemcpy2DFromArrayAsync(void* to, size_t pitch, hipArray_const_t from, size_t x, size_t y, size_t width,
                                     size_t height, hipMemcpyKind kind, hipStream_t stream) {
  return copy_from(to, pitch, from, x, y, width, height, kind, stream, false);
}

hipError_t hipMemcpyToArray(hipArray* to, size_t x, size_t y, const void* from, size_t size, hipMemcpyKind kind) {
  return with_array(to,
                    [&](const ArrayMemory& memory) { return hipMemcpy(run(memory, x, y, size), from, size, kind); });
}
hipError_t hipMemcpyFromArray(void* to, hipArray_const_t from, size_t x, size_t y, size_t size, hipMemcpyKind kind) {
  return with_array(from,
                    [&](const ArrayMemory& memory) { return hipMemcpy(to, run(memory, x, y, size), size, kind); });
}

#pragma GCC visibility push(default)
int mneme_hostgpu_array_bytes(const hipArray* array, size_t x, size_t row, size_t size, void** bytes) {
  return answer([&] {
    require(bytes);
    *bytes = run(memory_of(array), x, row, size);
  });
}
int mneme_hostgpu_array_flags(const hipArray* array, unsigned* flags) {
  return answer([&] {
    require(flags);
    *flags = memory_of(array).flags;
  });
}
#pragma GCC visibility pop

hipError_t hipMemcpyHtoA(hipArray* to, size_t offset, const void* from, size_t size) {
  return with_array(to, [&](const ArrayMemory& memory) {
    require(offset <= memory.slice);
    return hipMemcpy(run(memory, offset % memory.pitch, offset / memory.pitch, size), from, size,
                     hipMemcpyHostToDevice);
  });
}
hipError_t hipMemcpyAtoH(void* to, hipArray* from, size_t offset, size_t size) {
  return with_array(from, [&](const ArrayMemory& memory) {
    require(offset <= memory.slice);
    return hipMemcpy(to, run(memory, offset % memory.pitch, offset / memory.pitch, size), size, hipMemcpyDeviceToHost);
  });
}

}  // extern "C"
