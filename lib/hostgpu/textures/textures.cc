// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Texture and surface objects.
#include "hostgpu/textures/textures.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>

#include "hostgpu/errors.h"
#include "hostgpu/held_over_forks.h"
#include "hostgpu/memory/memory.h"
#include "hostgpu/textures/arrays.h"

#pragma GCC visibility push(default)
// Declared for C++ code of the device only; hence the names with their types.
hipError_t hipCreateSurfaceObject(hipSurfaceObject_t* object, const hipResourceDesc* resource);
hipError_t hipDestroySurfaceObject(hipSurfaceObject_t object);
#pragma GCC visibility pop

namespace mneme::hostgpu {

using device::host::Image;
using device::host::Sampler;
using device::host::TexelKind;
using device::host::TextureObject;

namespace {

struct Description {
  hipResourceDesc resource = {};
  hipTextureDesc texture = {};
  std::optional<hipResourceViewDesc> view;
  bool surface = false;
};

struct Objects {
  HeldOverForks<std::mutex> mutex;
  std::map<const void*, Description> live;  // by address
};

// Never destroyed: objects are destroyed from destructors that run last.
Objects& objects() {
  static auto* all = new Objects;
  return *all;
}

[[noreturn]] void refuse(const std::string& what) {
  throw HipError(hipErrorNotSupported, what + " are not available on the host device");
}

// A view's format, which must be of the same size: eight formats in the order of their numbers, of 1, 2 and 4 channels.
TexelFormat viewed_as(hipResourceViewFormat format, const TexelFormat& otherwise) {
  if (format == hipResViewFormatNone) return otherwise;
  if (format > hipResViewFormatFloat4) refuse("block-compressed textures");
  constexpr TexelFormat kFormats[] = {{TexelKind::kUnsigned, 8, 1},  {TexelKind::kSigned, 8, 1},
                                      {TexelKind::kUnsigned, 16, 1}, {TexelKind::kSigned, 16, 1},
                                      {TexelKind::kUnsigned, 32, 1}, {TexelKind::kSigned, 32, 1},
                                      {TexelKind::kFloat, 16, 1},    {TexelKind::kFloat, 32, 1}};
  unsigned index = static_cast<unsigned>(format) - 1;
  TexelFormat wanted = kFormats[index / 3];
  wanted.channels = 1u << index % 3;
  require(wanted.bytes() == otherwise.bytes());
  return wanted;
}

Image image_of(const TexelFormat& format) {
  Image image;
  image.kind = format.kind;
  image.bits = static_cast<uint8_t>(format.bits);
  image.channels = static_cast<uint8_t>(format.channels);
  return image;
}

Image image_of_array(hipArray_const_t array, const hipResourceViewDesc* view) {
  ArrayMemory memory = memory_of(array);
  Image image = image_of(view ? viewed_as(view->format, memory.format) : memory.format);
  if (view) {
    bool whole = (!view->width || view->width == memory.width) && (!view->height || view->height == memory.height) &&
                 (!view->depth || view->depth == memory.depth);
    if (!whole || view->firstMipmapLevel || view->lastMipmapLevel) refuse("views of part of an array");
    if (view->firstLayer) refuse("views of some layers of an array");
  }
  image.data = reinterpret_cast<uint64_t>(memory.data);
  image.width = static_cast<uint32_t>(memory.width);
  image.height = static_cast<uint32_t>(memory.height);
  image.depth = static_cast<uint32_t>(memory.depth);
  image.pitch = static_cast<uint32_t>(memory.pitch);
  image.slice = memory.slice;
  return image;
}

Image image_of_memory(const void* start, const TexelFormat& format, size_t width, size_t height, size_t pitch) {
  require(start && width && height && pitch / format.bytes() >= width);
  require(width <= INT32_MAX && height <= INT32_MAX && pitch <= UINT32_MAX);
  check_range(start, pitch * (height - 1) + width * format.bytes());
  Image image = image_of(format);
  image.data = reinterpret_cast<uint64_t>(start);
  image.width = static_cast<uint32_t>(width);
  image.height = static_cast<uint32_t>(height);
  image.pitch = static_cast<uint32_t>(pitch);
  image.slice = pitch * height;
  return image;
}

Image image_of(const hipResourceDesc& resource, const hipResourceViewDesc* view) {
  require(!view || resource.resType == hipResourceTypeArray || resource.resType == hipResourceTypeMipmappedArray);
  switch (resource.resType) {
    case hipResourceTypeArray:
      return image_of_array(resource.res.array.array, view);
    case hipResourceTypeMipmappedArray:
      refuse("mipmapped textures");
    case hipResourceTypeLinear: {
      const auto& linear = resource.res.linear;
      TexelFormat format = format_of(linear.desc);
      // The pitch of the one row that there is takes no part; texels are numbered in 27 bits, as on AMD's GPUs.
      size_t width = std::min<size_t>(linear.sizeInBytes / format.bytes(), size_t{1} << 27);
      return image_of_memory(linear.devPtr, format, width, 1, width * format.bytes());
    }
    case hipResourceTypePitch2D: {
      const auto& pitched = resource.res.pitch2D;
      return image_of_memory(pitched.devPtr, format_of(pitched.desc), pitched.width, pitched.height,
                             pitched.pitchInBytes);
    }
    default:
      throw HipError(hipErrorInvalidValue);
  }
}

Sampler sampler_of(const hipTextureDesc& texture, const Image& image) {
  Sampler sampler;
  for (int axis = 0; axis < 3; ++axis) {
    require(texture.addressMode[axis] >= hipAddressModeWrap && texture.addressMode[axis] <= hipAddressModeBorder);
    sampler.address[axis] = static_cast<device::host::AddressMode>(texture.addressMode[axis]);
  }
  require(texture.filterMode == hipFilterModePoint || texture.filterMode == hipFilterModeLinear);
  require(texture.readMode == hipReadModeElementType || texture.readMode == hipReadModeNormalizedFloat);
  bool reads_floats =
      image.kind == TexelKind::kFloat || (texture.readMode == hipReadModeNormalizedFloat && image.bits < 32);
  require(texture.filterMode == hipFilterModePoint || reads_floats);  // there is nothing between two integers
  if (texture.sRGB && image.bits == 8) refuse("sRGB textures");
  sampler.linear = texture.filterMode == hipFilterModeLinear;
  sampler.normalized = texture.normalizedCoords != 0;
  std::copy_n(texture.borderColor, 4, sampler.border);
  return sampler;
}

// Its memory comes from hipMalloc as everybody calls it, so that in a recorded process it is the recorder's.
void* place(const TextureObject& object, Description description) {
  void* memory = nullptr;
  hipError_t allocated = hipMalloc(&memory, sizeof object);
  if (allocated != hipSuccess) throw HipError(allocated);
  std::memcpy(memory, &object, sizeof object);
  std::lock_guard lock(objects().mutex);
  objects().live[memory] = std::move(description);
  return memory;
}

void remove(void* object, bool surface) {
  if (!object) return;
  {
    std::lock_guard lock(objects().mutex);
    auto found = objects().live.find(object);
    require(found != objects().live.end() && found->second.surface == surface);
    objects().live.erase(found);
  }
  static_cast<void>(hipDeviceSynchronize());  // kernels may be using it still
  std::memset(object, 0, sizeof(TextureObject));
  hipError_t freed = hipFree(object);
  if (freed != hipSuccess) throw HipError(freed);
}

Description description_of(hipTextureObject_t object) {
  std::lock_guard lock(objects().mutex);
  auto found = objects().live.find(object);
  require(found != objects().live.end() && !found->second.surface);
  return found->second;
}

// The driver's descriptions say the same in other words.
hipResourceDesc translate(const HIP_RESOURCE_DESC& from) {
  hipResourceDesc to = {};
  to.resType = static_cast<hipResourceType>(from.resType);
  require(from.flags == 0);
  if (from.resType == HIP_RESOURCE_TYPE_ARRAY) {
    to.res.array.array = from.res.array.hArray;
  } else if (from.resType == HIP_RESOURCE_TYPE_LINEAR) {
    const auto& linear = from.res.linear;
    to.res.linear = {linear.devPtr, channels_of(format_of(linear.format, linear.numChannels)), linear.sizeInBytes};
  } else if (from.resType == HIP_RESOURCE_TYPE_PITCH2D) {
    const auto& pitched = from.res.pitch2D;
    to.res.pitch2D = {pitched.devPtr, channels_of(format_of(pitched.format, pitched.numChannels)), pitched.width,
                      pitched.height, pitched.pitchInBytes};
  }
  return to;
}

hipTextureDesc translate(const HIP_TEXTURE_DESC& from) {
  hipTextureDesc to = {};
  for (int i = 0; i < 3; ++i) to.addressMode[i] = static_cast<hipTextureAddressMode>(from.addressMode[i]);
  to.filterMode = static_cast<hipTextureFilterMode>(from.filterMode);
  to.readMode = from.flags & HIP_TRSF_READ_AS_INTEGER ? hipReadModeElementType : hipReadModeNormalizedFloat;
  to.normalizedCoords = (from.flags & HIP_TRSF_NORMALIZED_COORDINATES) != 0;
  to.sRGB = (from.flags & HIP_TRSF_SRGB) != 0;
  to.maxAnisotropy = from.maxAnisotropy;
  std::copy_n(from.borderColor, 4, to.borderColor);
  return to;
}

hipResourceViewDesc translate(const HIP_RESOURCE_VIEW_DESC& from) {
  return {static_cast<hipResourceViewFormat>(from.format),
          from.width,
          from.height,
          from.depth,
          from.firstMipmapLevel,
          from.lastMipmapLevel,
          from.firstLayer,
          from.lastLayer};
}

}  // namespace

hipTextureObject_t make_texture(const hipResourceDesc& resource, const hipTextureDesc& texture,
                                const hipResourceViewDesc* view) {
  TextureObject object;
  object.image = image_of(resource, view);
  if (texture.readMode == hipReadModeNormalizedFloat && object.image.kind != TexelKind::kFloat) {
    object.image.flags |= device::host::kNormalizedRead;
  }
  object.sampler = sampler_of(texture, object.image);
  Description description{resource, texture, std::nullopt, false};
  if (view) description.view = *view;
  return static_cast<hipTextureObject_t>(place(object, std::move(description)));
}

void destroy_texture(hipTextureObject_t object) { remove(object, false); }

}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

hipError_t hipCreateTextureObject(hipTextureObject_t* object, const hipResourceDesc* resource,
                                  const hipTextureDesc* texture, const hipResourceViewDesc* view) {
  return answer_on_device([&] {
    require(object && resource && texture);
    *object = make_texture(*resource, *texture, view);
  });
}

hipError_t hipTexObjectCreate(hipTextureObject_t* object, const HIP_RESOURCE_DESC* resource,
                              const HIP_TEXTURE_DESC* texture, const HIP_RESOURCE_VIEW_DESC* view) {
  return answer_on_device([&] {
    require(object && resource && texture);
    hipResourceViewDesc translated = {};
    if (view) translated = translate(*view);
    *object = make_texture(translate(*resource), translate(*texture), view ? &translated : nullptr);
  });
}

hipError_t hipDestroyTextureObject(hipTextureObject_t object) {
  return answer_on_device([&] { destroy_texture(object); });
}
hipError_t hipTexObjectDestroy(hipTextureObject_t object) { return hipDestroyTextureObject(object); }

hipError_t hipGetTextureObjectResourceDesc(hipResourceDesc* resource, hipTextureObject_t object) {
  return answer([&] {
    require(resource);
    *resource = description_of(object).resource;
  });
}

hipError_t hipGetTextureObjectTextureDesc(hipTextureDesc* texture, hipTextureObject_t object) {
  return answer([&] {
    require(texture);
    *texture = description_of(object).texture;
  });
}

hipError_t hipGetTextureObjectResourceViewDesc(hipResourceViewDesc* view, hipTextureObject_t object) {
  return answer([&] {
    require(view);
    auto known = description_of(object).view;
    require(known.has_value());
    *view = *known;
  });
}

}  // extern "C"

hipError_t hipCreateSurfaceObject(hipSurfaceObject_t* object, const hipResourceDesc* resource) {
  return answer_on_device([&] {
    require(object && resource && resource->resType == hipResourceTypeArray);
    mneme::device::host::TextureObject made;
    made.image = image_of_array(resource->res.array.array, nullptr);
    if (made.image.kind != TexelKind::kFloat) made.image.flags = mneme::device::host::kNumbersAsFloats;
    *object = static_cast<hipSurfaceObject_t>(place(made, {*resource, {}, std::nullopt, true}));
  });
}

hipError_t hipDestroySurfaceObject(hipSurfaceObject_t object) {
  return answer_on_device([&] { remove(object, true); });
}
