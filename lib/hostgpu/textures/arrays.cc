// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/textures/arrays.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "hostgpu/errors.h"
#include "hostgpu/held_over_forks.h"

namespace mneme::hostgpu {

using device::host::TexelKind;

namespace {

struct Arrays {
  HeldOverForks<std::mutex> mutex;
  std::unordered_set<hipArray_const_t> live;
};

// Never destroyed: arrays are freed from destructors that run last.
Arrays& arrays() {
  static auto* all = new Arrays;
  return *all;
}

size_t product(size_t a, size_t b) {
  size_t result = 0;
  require(!__builtin_mul_overflow(a, b, &result), hipErrorOutOfMemory);
  return result;
}

constexpr unsigned kKnownFlags = hipArrayLayered | hipArraySurfaceLoadStore | hipArrayTextureGather;

void check_flags(unsigned flags) {
  if (flags & hipArrayCubemap) {
    throw HipError(hipErrorNotSupported, "cube maps are not available on the host device");
  }
  require((flags & ~kKnownFlags) == 0);
}

// Its memory comes from hipMalloc as everybody calls it, so that in a recorded process it is the recorder's.
void create(hipArray** out, const TexelFormat& format, const hipExtent& extent, unsigned flags, bool driver) {
  require(out && extent.width);
  check_flags(flags);
  bool layered = flags & hipArrayLayered;
  require(!layered || extent.depth);
  require(extent.height || !extent.depth || layered);  // slices have rows
  require(std::max({extent.width, extent.height, extent.depth}) <= INT32_MAX);
  size_t pitch = product(extent.width, format.bytes());
  require(pitch <= UINT32_MAX);
  size_t size = product(product(pitch, std::max<size_t>(extent.height, 1)), std::max<size_t>(extent.depth, 1));

  auto array = std::make_unique<hipArray>();
  *array = {};
  hipError_t allocated = hipMalloc(&array->data, size);
  if (allocated != hipSuccess) throw HipError(allocated);
  array->desc = channels_of(format);
  array->type = flags;
  array->width = static_cast<unsigned>(extent.width);
  array->height = static_cast<unsigned>(extent.height);
  array->depth = static_cast<unsigned>(extent.depth);
  array->Format = number_of(format);
  array->NumChannels = format.channels;
  array->isDrv = driver;
  array->textureType = layered         ? (extent.height ? hipTextureType2DLayered : hipTextureType1DLayered)
                       : extent.depth  ? hipTextureType3D
                       : extent.height ? hipTextureType2D
                                       : hipTextureType1D;
  std::lock_guard lock(arrays().mutex);
  arrays().live.insert(array.get());
  *out = array.release();
}

hipError_t destroy(hipArray* array) {
  return answer_on_device([&] {
    require(array);
    {
      std::lock_guard lock(arrays().mutex);
      require(arrays().live.erase(array) == 1, hipErrorInvalidHandle);
    }
    std::unique_ptr<hipArray> owned(array);
    hipError_t freed = hipFree(array->data);
    if (freed != hipSuccess) throw HipError(freed);
  });
}

}  // namespace

TexelFormat format_of(const hipChannelFormatDesc& d) {
  int sizes[] = {d.x, d.y, d.z, d.w};
  unsigned channels = 0;
  while (channels < 4 && sizes[channels]) ++channels;
  bool same = std::all_of(sizes, sizes + channels, [&](int bits) { return bits == d.x; }) &&
              std::all_of(sizes + channels, sizes + 4, [](int bits) { return bits == 0; });
  require(same && (d.x == 8 || d.x == 16 || d.x == 32));
  require(channels == 1 || channels == 2 || channels == 4);
  require(d.f == hipChannelFormatKindSigned || d.f == hipChannelFormatKindUnsigned ||
          (d.f == hipChannelFormatKindFloat && d.x != 8));
  TexelKind kind = d.f == hipChannelFormatKindSigned     ? TexelKind::kSigned
                   : d.f == hipChannelFormatKindUnsigned ? TexelKind::kUnsigned
                                                         : TexelKind::kFloat;
  return {kind, static_cast<unsigned>(d.x), channels};
}

TexelFormat format_of(hipArray_Format format, unsigned channels) {
  require(channels == 1 || channels == 2 || channels == 4);
  switch (format) {
    case HIP_AD_FORMAT_UNSIGNED_INT8:
      return {TexelKind::kUnsigned, 8, channels};
    case HIP_AD_FORMAT_UNSIGNED_INT16:
      return {TexelKind::kUnsigned, 16, channels};
    case HIP_AD_FORMAT_UNSIGNED_INT32:
      return {TexelKind::kUnsigned, 32, channels};
    case HIP_AD_FORMAT_SIGNED_INT8:
      return {TexelKind::kSigned, 8, channels};
    case HIP_AD_FORMAT_SIGNED_INT16:
      return {TexelKind::kSigned, 16, channels};
    case HIP_AD_FORMAT_SIGNED_INT32:
      return {TexelKind::kSigned, 32, channels};
    case HIP_AD_FORMAT_HALF:
      return {TexelKind::kFloat, 16, channels};
    case HIP_AD_FORMAT_FLOAT:
      return {TexelKind::kFloat, 32, channels};
    default:
      throw HipError(hipErrorInvalidValue);
  }
}

hipChannelFormatDesc channels_of(const TexelFormat& format) {
  int bits = static_cast<int>(format.bits);
  auto channel = [&](unsigned i) { return i < format.channels ? bits : 0; };
  hipChannelFormatKind kind = format.kind == TexelKind::kSigned     ? hipChannelFormatKindSigned
                              : format.kind == TexelKind::kUnsigned ? hipChannelFormatKindUnsigned
                                                                    : hipChannelFormatKindFloat;
  return {channel(0), channel(1), channel(2), channel(3), kind};
}

hipArray_Format number_of(const TexelFormat& format) {
  if (format.kind == TexelKind::kFloat) return format.bits == 16 ? HIP_AD_FORMAT_HALF : HIP_AD_FORMAT_FLOAT;
  int size = format.bits == 8 ? 0 : format.bits == 16 ? 1 : 2;
  int first = format.kind == TexelKind::kSigned ? HIP_AD_FORMAT_SIGNED_INT8 : HIP_AD_FORMAT_UNSIGNED_INT8;
  return static_cast<hipArray_Format>(first + size);
}

ArrayMemory memory_of(hipArray_const_t array) {
  require(array);
  std::lock_guard lock(arrays().mutex);
  require(arrays().live.contains(array), hipErrorInvalidHandle);
  ArrayMemory memory;
  memory.data = static_cast<std::byte*>(array->data);
  memory.format = format_of(array->desc);
  memory.width = array->width;
  memory.height = std::max(array->height, 1u);
  memory.depth = std::max(array->depth, 1u);
  memory.pitch = memory.width * memory.format.bytes();
  memory.slice = memory.pitch * memory.height;
  return memory;
}

}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

hipError_t hipMallocArray(hipArray** array, const hipChannelFormatDesc* channels, size_t width, size_t height,
                          unsigned flags) {
  return answer_on_device([&] {
    require(channels);
    require((flags & hipArrayLayered) == 0);  // hipMalloc3DArray makes those
    create(array, format_of(*channels), {width, height, 0}, flags, false);
  });
}

hipError_t hipMalloc3DArray(hipArray** array, const hipChannelFormatDesc* channels, hipExtent extent, unsigned flags) {
  return answer_on_device([&] {
    require(channels);
    create(array, format_of(*channels), extent, flags, false);
  });
}

hipError_t hipArrayCreate(hipArray** array, const HIP_ARRAY_DESCRIPTOR* wanted) {
  return answer_on_device([&] {
    require(wanted);
    create(array, format_of(wanted->Format, wanted->NumChannels), {wanted->Width, wanted->Height, 0}, 0, true);
  });
}

hipError_t hipArray3DCreate(hipArray** array, const HIP_ARRAY3D_DESCRIPTOR* wanted) {
  return answer_on_device([&] {
    require(wanted);
    create(array, format_of(wanted->Format, wanted->NumChannels), {wanted->Width, wanted->Height, wanted->Depth},
           wanted->Flags, true);
  });
}

hipError_t hipFreeArray(hipArray* array) { return destroy(array); }
hipError_t hipArrayDestroy(hipArray* array) { return destroy(array); }

hipError_t hipGetChannelDesc(hipChannelFormatDesc* channels, hipArray_const_t array) {
  return answer([&] {
    require(channels);
    *channels = channels_of(memory_of(array).format);
  });
}

}  // extern "C"
