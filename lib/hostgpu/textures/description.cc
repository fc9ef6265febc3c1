// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Textures and surfaces in the words of recordings, which are those of CUDA's driver.
#include <algorithm>
#include <bit>

#include "bundle/format.h"
#include "hostgpu/errors.h"
#include "hostgpu/extensions.h"
#include "hostgpu/textures/arrays.h"
#include "hostgpu/textures/textures.h"

namespace mneme::hostgpu {
namespace {

using bundle::TextureSource;

constexpr uint32_t kReadAsInteger = 0x01, kNormalized = 0x02, kSrgb = 0x10, kSeamless = 0x40;  // CU_TRSF_…

void describe_format(const TexelFormat& format, uint32_t& number, uint32_t& channels) {
  number = static_cast<uint32_t>(number_of(format));
  channels = format.channels;
}

template <class Array>
bundle::TextureArray describe_array(const Array& array, const ArrayMemory& memory, bool with_levels) {
  bundle::TextureArray described;
  described.address = reinterpret_cast<uint64_t>(memory.data);
  described.width = array.width;
  described.height = array.height;
  described.depth = array.depth;
  described.flags = memory.flags;
  described.levels = with_levels ? memory.levels : 0;
  describe_format(memory.format, described.format, described.channels);
  return described;
}

void describe(const hipResourceDesc& resource, bundle::TextureObject& texture, bundle::TextureArray& array) {
  texture.source = static_cast<TextureSource>(resource.resType);
  if (texture.source == TextureSource::kArray) {
    hipArray* of = resource.res.array.array;
    array = describe_array(*of, memory_of(of), false);
    texture.address = array.address;
  } else if (texture.source == TextureSource::kMipmappedArray) {
    hipMipmappedArray* of = resource.res.mipmap.mipmap;
    array = describe_array(*of, memory_of(of), true);
    texture.address = array.address;
  } else if (texture.source == TextureSource::kLinear) {
    const auto& linear = resource.res.linear;
    texture.address = reinterpret_cast<uint64_t>(linear.devPtr);
    texture.width = linear.sizeInBytes;
    describe_format(format_of(linear.desc), texture.format, texture.channels);
  } else {
    const auto& pitched = resource.res.pitch2D;
    texture.address = reinterpret_cast<uint64_t>(pitched.devPtr);
    texture.width = pitched.width;
    texture.height = pitched.height;
    texture.pitch = pitched.pitchInBytes;
    describe_format(format_of(pitched.desc), texture.format, texture.channels);
  }
}

void describe(const hipTextureDesc& sampling, bool seamless, bundle::TextureObject& texture) {
  auto& words = texture.sampling;
  for (int axis = 0; axis < 3; ++axis) words[axis] = static_cast<uint32_t>(sampling.addressMode[axis]);
  words[3] = static_cast<uint32_t>(sampling.filterMode);
  words[4] = (sampling.readMode == hipReadModeElementType ? kReadAsInteger : 0) |
             (sampling.normalizedCoords ? kNormalized : 0) | (sampling.sRGB ? kSrgb : 0) | (seamless ? kSeamless : 0);
  words[5] = sampling.maxAnisotropy;
  words[6] = static_cast<uint32_t>(sampling.mipmapFilterMode);
  words[7] = std::bit_cast<uint32_t>(sampling.mipmapLevelBias);
  words[8] = std::bit_cast<uint32_t>(sampling.minMipmapLevelClamp);
  words[9] = std::bit_cast<uint32_t>(sampling.maxMipmapLevelClamp);
  for (int i = 0; i < 4; ++i) words[10 + i] = std::bit_cast<uint32_t>(sampling.borderColor[i]);
}

}  // namespace
}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" __attribute__((visibility("default"))) int mneme_hostgpu_describe_texture(
    unsigned long long object, bool surface, mneme::bundle::TextureObject* texture,
    mneme::bundle::TextureArray* array) {
  return answer([&] {
    Description known = description_of(reinterpret_cast<const void*>(object), surface);
    texture->surface = surface;
    describe(known.resource, *texture, *array);
    if (surface) return;
    describe(known.texture, known.rules.seamless, *texture);
    if (!known.view) return;
    texture->view = {static_cast<uint64_t>(known.view->format),
                     known.view->width,
                     known.view->height,
                     known.view->depth,
                     known.view->firstMipmapLevel,
                     known.view->lastMipmapLevel,
                     known.view->firstLayer,
                     known.view->lastLayer};
  });
}
