// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Texture and surface objects.
#include "hostgpu/textures/textures.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "hostgpu/errors.h"
#include "hostgpu/extensions.h"
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
using device::host::Sampling;
using device::host::TexelKind;
using device::host::TextureObject;
using device::host::View;

namespace {

struct Objects {
  HeldOverForks<std::mutex> mutex;
  std::map<const void*, Description> live;  // by address
};

// Never destroyed: objects are destroyed from destructors that run last.
Objects& objects() {
  static auto* all = new Objects;
  return *all;
}

// What the host device says of a texture, as HIP's errors.
template <class Body>
auto with_errors(const Body& body) {
  try {
    return body();
  } catch (const device::host::BadTexture&) {
    throw HipError(hipErrorInvalidValue);
  } catch (const Error& error) {
    throw HipError(hipErrorNotSupported, error.what());
  }
}

Image image_of_array(const ArrayMemory& memory) {
  Image image = device::host::image_of(memory.format);
  image.data = reinterpret_cast<uint64_t>(memory.data);
  image.width = static_cast<uint32_t>(memory.width);
  image.height = static_cast<uint32_t>(memory.height);
  image.depth = static_cast<uint32_t>(memory.depth);
  image.pitch = static_cast<uint32_t>(memory.pitch);
  image.slice = memory.slice;
  image.levels = memory.levels;
  if (memory.has_layers()) image.flags |= device::host::kLayers;
  return image;
}

Image image_of_memory(const void* start, const TexelFormat& format, size_t width, size_t height, size_t pitch) {
  require(start && width && height && pitch / format.bytes() >= width);
  require(width <= INT32_MAX && height <= INT32_MAX && pitch <= UINT32_MAX);
  check_range(start, pitch * (height - 1) + width * format.bytes());
  Image image = device::host::image_of(format);
  image.data = reinterpret_cast<uint64_t>(start);
  image.width = static_cast<uint32_t>(width);
  image.height = static_cast<uint32_t>(height);
  image.pitch = static_cast<uint32_t>(pitch);
  image.slice = pitch * height;
  return image;
}

Image image_of(const hipResourceDesc& resource) {
  switch (resource.resType) {
    case hipResourceTypeArray:
      return image_of_array(memory_of(resource.res.array.array));
    case hipResourceTypeMipmappedArray:
      return image_of_array(memory_of(resource.res.mipmap.mipmap));
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

Sampling sampling_of(const hipTextureDesc& texture, const TextureRules& rules) {
  Sampling sampling;
  for (int axis = 0; axis < 3; ++axis) sampling.address[axis] = static_cast<unsigned>(texture.addressMode[axis]);
  sampling.filter = static_cast<unsigned>(texture.filterMode);
  sampling.level_filter = static_cast<unsigned>(texture.mipmapFilterMode);
  require(texture.readMode == hipReadModeElementType || texture.readMode == hipReadModeNormalizedFloat);
  sampling.fractions = texture.readMode == hipReadModeNormalizedFloat;
  sampling.normalized = texture.normalizedCoords != 0;
  sampling.srgb = texture.sRGB != 0;
  sampling.anisotropy = texture.maxAnisotropy;
  sampling.level_bias = texture.mipmapLevelBias;
  sampling.least_level = texture.minMipmapLevelClamp;
  sampling.most_level = texture.maxMipmapLevelClamp;
  std::copy_n(texture.borderColor, 4, sampling.border);
  sampling.cuda = rules.cuda;
  sampling.seamless = rules.seamless;
  return sampling;
}

View view_of(const hipResourceViewDesc& view) {
  return {static_cast<unsigned>(view.format),
          view.width,
          view.height,
          view.depth,
          view.firstMipmapLevel,
          view.lastMipmapLevel,
          view.firstLayer,
          view.lastLayer};
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

void* make_surface(const hipResourceDesc& resource, uint8_t flags) {
  TextureObject made;
  made.image = image_of_array(memory_of(resource.res.array.array));
  made.image.flags |= flags;
  return place(made, {resource, {}, std::nullopt, true, {}});
}

// The driver's descriptions say the same in other words.
hipResourceDesc translate(const HIP_RESOURCE_DESC& from) {
  hipResourceDesc to = {};
  to.resType = static_cast<hipResourceType>(from.resType);
  require(from.flags == 0);
  if (from.resType == HIP_RESOURCE_TYPE_ARRAY) {
    to.res.array.array = from.res.array.hArray;
  } else if (from.resType == HIP_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
    to.res.mipmap.mipmap = from.res.mipmap.hMipmappedArray;
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
  to.mipmapFilterMode = static_cast<hipTextureFilterMode>(from.mipmapFilterMode);
  to.mipmapLevelBias = from.mipmapLevelBias;
  to.minMipmapLevelClamp = from.minMipmapLevelClamp;
  to.maxMipmapLevelClamp = from.maxMipmapLevelClamp;
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

Description description_of(const void* object, bool surface) {
  std::lock_guard lock(objects().mutex);
  auto found = objects().live.find(object);
  require(found != objects().live.end() && found->second.surface == surface);
  return found->second;
}

hipTextureObject_t make_texture(const hipResourceDesc& resource, const hipTextureDesc& texture,
                                const hipResourceViewDesc* view, const TextureRules& rules) {
  require(!view || resource.resType == hipResourceTypeArray || resource.resType == hipResourceTypeMipmappedArray);
  TextureObject object = with_errors([&] {
    View wanted;
    if (view) wanted = view_of(*view);
    return device::host::make_texture_object(image_of(resource), view ? &wanted : nullptr, sampling_of(texture, rules));
  });
  Description description{resource, texture, std::nullopt, false, rules};
  if (view) description.view = *view;
  return static_cast<hipTextureObject_t>(place(object, std::move(description)));
}

static hipTextureObject_t make_drivers_texture(const HIP_RESOURCE_DESC& resource, const HIP_TEXTURE_DESC& texture,
                                               const HIP_RESOURCE_VIEW_DESC* view, const TextureRules& rules) {
  hipResourceViewDesc translated = {};
  if (view) translated = translate(*view);
  return make_texture(translate(resource), translate(texture), view ? &translated : nullptr, rules);
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
    *object = make_drivers_texture(*resource, *texture, view, {});
  });
}

hipError_t hipDestroyTextureObject(hipTextureObject_t object) {
  return answer_on_device([&] { destroy_texture(object); });
}
hipError_t hipTexObjectDestroy(hipTextureObject_t object) { return hipDestroyTextureObject(object); }

hipError_t hipGetTextureObjectResourceDesc(hipResourceDesc* resource, hipTextureObject_t object) {
  return answer([&] {
    require(resource);
    *resource = description_of(object, false).resource;
  });
}

hipError_t hipGetTextureObjectTextureDesc(hipTextureDesc* texture, hipTextureObject_t object) {
  return answer([&] {
    require(texture);
    *texture = description_of(object, false).texture;
  });
}

hipError_t hipGetTextureObjectResourceViewDesc(hipResourceViewDesc* view, hipTextureObject_t object) {
  return answer([&] {
    require(view);
    auto known = description_of(object, false).view;
    require(known.has_value());
    *view = *known;
  });
}

#pragma GCC visibility push(default)
int mneme_hostgpu_create_texture(unsigned long long* object, const hipResourceDesc* resource,
                                 const hipTextureDesc* texture, const hipResourceViewDesc* view, bool seamless) {
  return answer_on_device([&] {
    require(object && resource && texture);
    *object = reinterpret_cast<uint64_t>(make_texture(*resource, *texture, view, {true, seamless}));
  });
}

int mneme_hostgpu_create_drivers_texture(unsigned long long* object, const HIP_RESOURCE_DESC* resource,
                                         const HIP_TEXTURE_DESC* texture, const HIP_RESOURCE_VIEW_DESC* view,
                                         bool seamless) {
  return answer_on_device([&] {
    require(object && resource && texture);
    *object = reinterpret_cast<uint64_t>(make_drivers_texture(*resource, *texture, view, {true, seamless}));
  });
}

int mneme_hostgpu_create_surface(unsigned long long* object, const hipResourceDesc* resource) {
  return answer_on_device([&] {
    require(object && resource && resource->resType == hipResourceTypeArray);
    require(memory_of(resource->res.array.array).flags & hipArraySurfaceLoadStore);
    *object = reinterpret_cast<uint64_t>(make_surface(*resource, mneme::device::host::kBytes));
  });
}

int mneme_hostgpu_destroy_surface(unsigned long long object) {
  return answer_on_device([&] { remove(reinterpret_cast<void*>(object), true); });
}

int mneme_hostgpu_surface_resource(hipResourceDesc* resource, unsigned long long object) {
  return answer([&] {
    require(resource);
    *resource = description_of(reinterpret_cast<void*>(object), true).resource;
  });
}
#pragma GCC visibility pop

}  // extern "C"

hipError_t hipCreateSurfaceObject(hipSurfaceObject_t* object, const hipResourceDesc* resource) {
  return answer_on_device([&] {
    require(object && resource && resource->resType == hipResourceTypeArray);
    bool floats = memory_of(resource->res.array.array).format.kind == TexelKind::kFloat;
    auto flags = floats ? uint8_t{0} : uint8_t{mneme::device::host::kNumbersAsFloats};
    *object = static_cast<hipSurfaceObject_t>(make_surface(*resource, flags));
  });
}

hipError_t hipDestroySurfaceObject(hipSurfaceObject_t object) {
  return answer_on_device([&] { remove(object, true); });
}
