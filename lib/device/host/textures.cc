// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/textures.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "bundle/textures.h"
#include "device/host/services/texture_objects.h"

namespace mneme::device::host {
namespace {

// CUDA's numbers: of formats (CU_AD_FORMAT_…), of a texture's flags (CU_TRSF_…), of an array's (CUDA_ARRAY3D_…).
constexpr uint32_t kHalf = 0x10, kFloat = 0x20, kFirstSigned = 0x08;
constexpr uint32_t kReadAsInteger = 0x01, kNormalized = 0x02, kSrgbFlag = 0x10, kSeamless = 0x40;
constexpr uint32_t kLayered = 0x01, kCubemap = 0x04;

// Of one that is recorded (bundle/textures.h).
TexelFormat format_of(uint32_t format, uint32_t channels) {
  if (format == kHalf || format == kFloat) return {TexelKind::kFloat, format == kHalf ? 16u : 32u, channels};
  bool is_signed = format >= kFirstSigned;
  uint32_t size = format - (is_signed ? kFirstSigned : 1);
  return {is_signed ? TexelKind::kSigned : TexelKind::kUnsigned, 8u << size, channels};
}

uint32_t dimension(uint64_t texels) { return static_cast<uint32_t>(std::max<uint64_t>(texels, 1)); }

Image image_of_array(const bundle::TextureArray& array, const bundle::ArrayLayout& layout) {
  Image image = image_of(format_of(array.format, array.channels));
  image.data = array.address;
  image.width = dimension(array.width);
  image.height = dimension(array.height);
  image.depth = dimension(array.depth);
  image.pitch = static_cast<uint32_t>(layout.levels[0].row_bytes);
  image.slice = layout.levels[0].row_bytes * layout.levels[0].rows;
  image.levels = static_cast<uint32_t>(layout.levels.size());
  if (array.flags & (kLayered | kCubemap)) image.flags |= kLayers;
  return image;
}

Image image_of_memory(const bundle::TextureObject& object) {
  constexpr uint64_t kMostTexels = 1 << 27;
  TexelFormat format = format_of(object.format, object.channels);
  bool linear = object.source == bundle::TextureSource::kLinear;
  Image image = image_of(format);
  image.data = object.address;
  image.width = static_cast<uint32_t>(linear ? std::min(object.width / format.bytes(), kMostTexels) : object.width);
  image.height = linear ? 1 : static_cast<uint32_t>(object.height);
  image.pitch = linear ? 0 : static_cast<uint32_t>(object.pitch);
  image.slice = uint64_t{image.pitch} * image.height;
  return image;
}

// The words of CUDA_TEXTURE_DESC.
Sampling sampling_of(const bundle::TextureObject& object) {
  const auto& words = object.sampling;
  auto number = [&](size_t i) { return std::bit_cast<float>(words[i]); };
  Sampling sampling;
  std::copy_n(words.begin(), 3, sampling.address);
  sampling.filter = words[3];
  sampling.fractions = !(words[4] & kReadAsInteger);
  sampling.normalized = words[4] & kNormalized;
  sampling.srgb = words[4] & kSrgbFlag;
  sampling.seamless = words[4] & kSeamless;
  sampling.anisotropy = words[5];
  sampling.level_filter = words[6];
  sampling.level_bias = number(7);
  sampling.least_level = number(8);
  sampling.most_level = number(9);
  for (size_t i = 0; i < 4; ++i) sampling.border[i] = number(10 + i);
  sampling.cuda = true;
  return sampling;
}

View view_of(const std::array<uint64_t, 8>& numbers) {
  auto small = [&](size_t i) { return static_cast<unsigned>(numbers[i]); };
  return {small(0), numbers[1], numbers[2], numbers[3], small(4), small(5), small(6), small(7)};
}

TextureObject object_of(const bundle::TextureObject& recorded, const Image& image) {
  TextureObject object;
  if (recorded.surface) {
    object.image = image;
    object.image.levels = 1;
    object.image.flags |= kBytes;
    return object;
  }
  View view;
  if (recorded.view) view = view_of(*recorded.view);
  return make_texture_object(image, recorded.view ? &view : nullptr, sampling_of(recorded));
}

}  // namespace

Textures::Textures(const Launch& launch, const std::function<void(uint64_t, uint64_t)>& check) {
  for (const bundle::TextureObject& recorded : launch.textures) {
    Image image;
    if (bundle::is_of_array(recorded)) {
      auto array = std::ranges::find(launch.arrays, recorded.address, &bundle::TextureArray::address);
      if (array == launch.arrays.end()) {
        throw Error::of("a texture stands for an array at {:#x}, which is not there", recorded.address);
      }
      std::optional<bundle::ArrayLayout> layout = bundle::layout_of(*array);
      if (!layout) throw Error("an array of the recording is of an unknown kind");
      check(array->address, layout->bytes);
      image = image_of_array(*array, *layout);
    } else {
      std::optional<uint64_t> bytes = bundle::bytes_in_memory(recorded);
      if (!bytes) throw Error("a texture of the recording has memory of an unknown kind");
      check(recorded.address, *bytes);
      image = image_of_memory(recorded);
    }
    try {
      objects_.push_back(object_of(recorded, image));
    } catch (const BadTexture& bad) {
      throw Error::of("the texture whose handle lies at byte {} of the arguments is none: {}", recorded.argument,
                      bad.what());
    }
    places_.push_back(recorded.argument);
  }
}

void Textures::put_handles(std::string& arguments) const {
  for (size_t i = 0; i < objects_.size(); ++i) {
    const auto handle = reinterpret_cast<uint64_t>(&objects_[i]);
    if (places_[i] > arguments.size() || arguments.size() - places_[i] < sizeof handle) {
      throw Error("a texture's handle lies behind the recorded arguments");
    }
    std::memcpy(arguments.data() + places_[i], &handle, sizeof handle);
  }
}

}  // namespace mneme::device::host
