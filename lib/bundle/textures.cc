// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/textures.h"

#include <algorithm>

namespace mneme::bundle {
namespace {

constexpr uint64_t kMostTexels = 1 << 20;  // in a dimension; no GPU known has arrays of more than 2^17
constexpr uint32_t kMostLevels = 21;
constexpr uint32_t kLayered = 0x01, kCubemap = 0x04, kSparse = 0x40, kDeferred = 0x80;  // CUDA_ARRAY3D_…

// Of a channel; 0: a format that is not recorded.
uint64_t bytes_of_format(uint32_t format) {
  switch (format) {
    case 0x01:  // CU_AD_FORMAT_UNSIGNED_INT8
    case 0x08:  // …_SIGNED_INT8
      return 1;
    case 0x02:  // …_UNSIGNED_INT16
    case 0x09:  // …_SIGNED_INT16
    case 0x10:  // …_HALF
      return 2;
    case 0x03:  // …_UNSIGNED_INT32
    case 0x0a:  // …_SIGNED_INT32
    case 0x20:  // …_FLOAT
      return 4;
    default:
      return 0;
  }
}

}  // namespace

std::optional<ArrayLayout> layout_of(const TextureArray& array) {
  const uint64_t texel = bytes_of_format(array.format) * array.channels;
  const bool whole = array.channels == 1 || array.channels == 2 || array.channels == 4;
  if (texel == 0 || !whole || array.flags & (kSparse | kDeferred)) return std::nullopt;
  if (array.width == 0 || std::max({array.width, array.height, array.depth}) > kMostTexels) return std::nullopt;
  if (array.levels > kMostLevels) return std::nullopt;
  const bool layered = array.flags & (kLayered | kCubemap);
  ArrayLayout layout;
  for (uint32_t level = 0; level < std::max(array.levels, 1u); ++level) {
    auto at = [level](uint64_t texels) { return std::max<uint64_t>(texels >> level, 1); };
    ArrayLevel& added = layout.levels.emplace_back();
    added.offset = layout.bytes;
    added.row_bytes = at(array.width) * texel;
    added.rows = at(array.height);
    added.slices = layered ? std::max<uint64_t>(array.depth, 1) : at(array.depth);
    // At most 2^24 bytes in a row, 2^20 rows and slices: one multiplication at a time cannot overflow here.
    if (added.row_bytes * added.rows > UINT64_MAX / 4 / added.slices) return std::nullopt;
    layout.bytes += added.row_bytes * added.rows * added.slices;
    if (layout.bytes > UINT64_MAX / 4) return std::nullopt;
  }
  return layout;
}

std::optional<uint64_t> bytes_in_memory(const TextureObject& object) {
  const uint64_t texel = bytes_of_format(object.format) * object.channels;
  const bool whole = object.channels == 1 || object.channels == 2 || object.channels == 4;
  if (texel == 0 || !whole || object.width == 0) return std::nullopt;
  if (object.source == TextureSource::kLinear) return object.width;
  if (object.source != TextureSource::kPitched || object.height == 0) return std::nullopt;
  if (std::max(object.width, object.height) > kMostTexels || object.pitch > UINT32_MAX) return std::nullopt;
  if (object.pitch < object.width * texel) return std::nullopt;
  return object.pitch * (object.height - 1) + object.width * texel;
}

}  // namespace mneme::bundle
