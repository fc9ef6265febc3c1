// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/textures/arrays.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hostgpu/errors.h"
#include "hostgpu/held_over_forks.h"

namespace mneme::hostgpu {

using device::host::TexelKind;

namespace {

struct Levels {
  std::unique_ptr<hipMipmappedArray> array;
  std::vector<std::unique_ptr<hipArray>> levels;
  ArrayMemory memory;
};

struct Arrays {
  HeldOverForks<std::mutex> mutex;
  std::unordered_map<hipArray_const_t, bool> live;  // whether it is another's level
  std::unordered_map<hipMipmappedArray_const_t, Levels> with_levels;
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

// CUDA's, which HIP has no names for.
constexpr unsigned kColorAttachment = 0x20, kSparse = 0x40, kDeferredMapping = 0x80;
constexpr unsigned kKnownFlags =
    hipArrayLayered | hipArraySurfaceLoadStore | hipArrayCubemap | hipArrayTextureGather | kColorAttachment;
constexpr size_t kFaces = 6;

void check_flags(unsigned flags) {
  if (flags & (kSparse | kDeferredMapping)) {
    throw HipError(hipErrorNotSupported,
                   "sparse arrays, and arrays whose memory comes later, are not available on the host device");
  }
  require((flags & ~kKnownFlags) == 0);
}

// What all arrays have, before there is memory.
ArrayMemory plan(const TexelFormat& format, const hipExtent& extent, unsigned flags) {
  require(extent.width);
  check_flags(flags);
  bool layered = flags & hipArrayLayered, cube = flags & hipArrayCubemap;
  require(!layered || extent.depth);
  require(extent.height || !extent.depth || layered);  // slices have rows
  bool has_faces = layered ? extent.depth % kFaces == 0 : extent.depth == kFaces;
  require(!cube || (extent.width == extent.height && has_faces));
  require(std::max({extent.width, extent.height, extent.depth}) <= INT32_MAX);
  ArrayMemory memory;
  memory.format = format;
  memory.width = extent.width;
  memory.height = std::max<size_t>(extent.height, 1);
  memory.depth = std::max<size_t>(extent.depth, 1);
  memory.pitch = product(memory.width, format.bytes());
  memory.slice = product(memory.pitch, memory.height);
  memory.flags = flags;
  require(memory.pitch <= UINT32_MAX);
  return memory;
}

// Its memory comes from hipMalloc as everybody calls it, so that in a recorded process it is the recorder's.
void allocate(ArrayMemory& memory, size_t size) {
  void* data = nullptr;
  hipError_t allocated = hipMalloc(&data, size);
  if (allocated != hipSuccess) throw HipError(allocated);
  memory.data = static_cast<std::byte*>(data);
}

std::unique_ptr<hipArray> array_of(const ArrayMemory& memory, const hipExtent& extent, bool driver) {
  auto array = std::make_unique<hipArray>();
  *array = {};
  array->data = memory.data;
  array->desc = channels_of(memory.format);
  array->type = memory.flags;
  array->width = static_cast<unsigned>(extent.width);
  array->height = static_cast<unsigned>(extent.height);
  array->depth = static_cast<unsigned>(extent.depth);
  array->Format = number_of(memory.format);
  array->NumChannels = memory.format.channels;
  array->isDrv = driver;
  bool layered = memory.flags & hipArrayLayered;
  array->textureType = memory.flags & hipArrayCubemap ? (layered ? hipTextureTypeCubemapLayered : hipTextureTypeCubemap)
                       : layered       ? (extent.height ? hipTextureType2DLayered : hipTextureType1DLayered)
                       : extent.depth  ? hipTextureType3D
                       : extent.height ? hipTextureType2D
                                       : hipTextureType1D;
  return array;
}

void create(hipArray** out, const TexelFormat& format, const hipExtent& extent, unsigned flags, bool driver) {
  require(out);
  ArrayMemory memory = plan(format, extent, flags);
  allocate(memory, product(memory.slice, memory.depth));
  auto array = array_of(memory, extent, driver);
  std::lock_guard lock(arrays().mutex);
  arrays().live[array.get()] = false;
  *out = array.release();
}

// The extent of an array's next level: a dimension that it does not have stays so, and layers are as many.
hipExtent half_of(const hipExtent& extent, bool has_layers) {
  auto half = [](size_t texels) { return texels ? std::max<size_t>(texels / 2, 1) : 0; };
  return {half(extent.width), half(extent.height), has_layers ? extent.depth : half(extent.depth)};
}

// As many levels as are wanted, but no fewer than one, and no more than it takes to come down to one texel.
void create(hipMipmappedArray_t* out, const TexelFormat& format, hipExtent extent, unsigned wanted, unsigned flags,
            bool driver) {
  require(out);
  Levels made;
  made.memory = plan(format, extent, flags);
  bool has_layers = made.memory.has_layers();
  auto most = static_cast<unsigned>(
      std::bit_width(std::max({extent.width, extent.height, has_layers ? size_t{0} : extent.depth})));
  made.memory.levels = std::clamp(wanted, 1u, most);
  std::vector<std::pair<ArrayMemory, hipExtent>> levels;
  size_t size = 0;
  for (unsigned i = 0; i < made.memory.levels; ++i, extent = half_of(extent, has_layers)) {
    levels.emplace_back(plan(format, extent, flags), extent);
    size += product(levels.back().first.slice, levels.back().first.depth);
  }
  allocate(made.memory, size);
  made.array = std::make_unique<hipMipmappedArray>();
  *made.array = {};
  made.array->data = made.memory.data;
  made.array->desc = channels_of(format);
  made.array->type = made.memory.flags;
  made.array->width = static_cast<unsigned>(levels[0].second.width);
  made.array->height = static_cast<unsigned>(levels[0].second.height);
  made.array->depth = static_cast<unsigned>(levels[0].second.depth);
  made.array->max_mipmap_level = made.memory.levels - 1;
  made.array->flags = flags;
  made.array->format = number_of(format);
  std::byte* data = made.memory.data;
  for (auto& [memory, level] : levels) {
    memory.data = data;
    data += memory.slice * memory.depth;
    made.levels.push_back(array_of(memory, level, driver));
  }
  std::lock_guard lock(arrays().mutex);
  for (const auto& level : made.levels) arrays().live[level.get()] = true;
  *out = made.array.get();
  arrays().with_levels[*out] = std::move(made);
}

hipError_t destroy(hipMipmappedArray_t array) {
  return answer_on_device([&] {
    require(array);
    Levels owned;
    {
      std::lock_guard lock(arrays().mutex);
      auto found = arrays().with_levels.find(array);
      require(found != arrays().with_levels.end(), hipErrorInvalidHandle);
      owned = std::move(found->second);
      arrays().with_levels.erase(found);
      for (const auto& level : owned.levels) arrays().live.erase(level.get());
    }
    hipError_t freed = hipFree(owned.memory.data);
    if (freed != hipSuccess) throw HipError(freed);
  });
}

hipError_t level_of(hipArray_t* level, hipMipmappedArray_const_t array, unsigned number) {
  return answer([&] {
    require(level && array);
    std::lock_guard lock(arrays().mutex);
    auto found = arrays().with_levels.find(array);
    require(found != arrays().with_levels.end(), hipErrorInvalidHandle);
    require(number < found->second.levels.size());
    *level = found->second.levels[number].get();
  });
}

hipError_t destroy(hipArray* array) {
  return answer_on_device([&] {
    require(array);
    {
      std::lock_guard lock(arrays().mutex);
      auto found = arrays().live.find(array);
      require(found != arrays().live.end(), hipErrorInvalidHandle);
      require(!found->second);  // a level is freed with all others
      arrays().live.erase(found);
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
  ArrayMemory memory = plan(format_of(array->desc), {array->width, array->height, array->depth}, array->type);
  memory.data = static_cast<std::byte*>(array->data);
  return memory;
}

ArrayMemory memory_of(hipMipmappedArray_const_t array) {
  require(array);
  std::lock_guard lock(arrays().mutex);
  auto found = arrays().with_levels.find(array);
  require(found != arrays().with_levels.end(), hipErrorInvalidHandle);
  return found->second.memory;
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

hipError_t hipMallocMipmappedArray(hipMipmappedArray_t* array, const hipChannelFormatDesc* channels, hipExtent extent,
                                   unsigned levels, unsigned flags) {
  return answer_on_device([&] {
    require(channels);
    create(array, format_of(*channels), extent, levels, flags, false);
  });
}

hipError_t hipMipmappedArrayCreate(hipMipmappedArray_t* array, HIP_ARRAY3D_DESCRIPTOR* wanted, unsigned levels) {
  return answer_on_device([&] {
    require(wanted);
    create(array, format_of(wanted->Format, wanted->NumChannels), {wanted->Width, wanted->Height, wanted->Depth},
           levels, wanted->Flags, true);
  });
}

hipError_t hipFreeMipmappedArray(hipMipmappedArray_t array) { return destroy(array); }
hipError_t hipMipmappedArrayDestroy(hipMipmappedArray_t array) { return destroy(array); }

hipError_t hipGetMipmappedArrayLevel(hipArray_t* level, hipMipmappedArray_const_t array, unsigned number) {
  return level_of(level, array, number);
}
hipError_t hipMipmappedArrayGetLevel(hipArray_t* level, hipMipmappedArray_t array, unsigned number) {
  return level_of(level, array, number);
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
