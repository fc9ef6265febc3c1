// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/services/images.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "device/host/services/services.h"
#include "device/host/services/texels.h"

namespace mneme::device::host {
namespace {

using codegen::host::BlockContext;
using codegen::host::ImageShape;
using codegen::host::Texel;

using Floats = float __attribute__((vector_size(16)));

Floats floats(Texel texel) { return std::bit_cast<Floats>(texel); }
Texel bits(Floats values) { return std::bit_cast<Texel>(values); }

const Image& image_at(BlockContext* context, uint32_t thread, uint64_t address) {
  const auto* image = reinterpret_cast<const Image*>(address);
  if (!image) stop_block(context, thread, "uses a texture or surface object that is null");
  if (address % alignof(Image) != 0 || image->magic != Image::kMagic) {
    stop_block(context, thread, "uses a texture or surface object that is none, or was destroyed");
  }
  return *image;
}

const Image& texture_at(BlockContext* context, uint32_t thread, uint64_t address) {
  const Image& image = image_at(context, thread, address);
  if (image.flags & kBytes) stop_block(context, thread, "reads a surface object as a texture");
  return image;
}

bool within(const Image& image, int64_t x, int64_t y, int64_t z) {
  return x >= 0 && y >= 0 && z >= 0 && x < image.width && y < image.height && z < image.depth;
}

std::byte* place(const Image& image, int64_t x, int64_t y, int64_t z) {
  auto* data = reinterpret_cast<std::byte*>(image.data);
  return data + static_cast<uint64_t>(z) * image.slice + static_cast<uint64_t>(y) * image.pitch +
         static_cast<uint64_t>(x) * image.channels * (image.bits / 8u);
}

// Where a coordinate's texel is along one axis of `size` texels; -1: outside, in the border.
int64_t resolve(int64_t index, int64_t size, AddressMode mode) {
  switch (mode) {
    case AddressMode::kWrap:
      index %= size;
      return index < 0 ? index + size : index;
    case AddressMode::kMirror:
      index %= 2 * size;
      if (index < 0) index += 2 * size;
      return index < size ? index : 2 * size - 1 - index;
    case AddressMode::kClamp:
      return index < 0 ? 0 : std::min(index, size - 1);
    default:
      return index < 0 || index >= size ? -1 : index;
  }
}

// Along one axis: one texel, or two and how much of the second.
struct Taps {
  int64_t index[2];
  float weight;
};

float weight_of(float part, const Sampler& sampler) {
  return sampler.flags & kWeightsOf256ths ? std::rint(part * 256) / 256 : part;
}

Taps taps(float coordinate, uint32_t size, const Sampler& sampler, unsigned axis) {
  AddressMode mode = sampler.address[axis];
  if (sampler.normalized) {
    coordinate *= static_cast<float>(size);
  } else if (mode == AddressMode::kWrap || mode == AddressMode::kMirror) {
    mode = AddressMode::kClamp;  // those two are for coordinates from 0 to 1
  }
  // Beyond any image, and no number at all, are as far outside as need be.
  constexpr float kFar = 1 << 30;
  coordinate = coordinate == coordinate ? std::fmin(std::fmax(coordinate, -kFar), kFar) : 0;
  if (!sampler.linear) {
    auto index = static_cast<int64_t>(std::floor(coordinate));
    return {{resolve(index, size, mode), 0}, 0};
  }
  float below = std::floor(coordinate - 0.5f);
  auto index = static_cast<int64_t>(below);
  return {{resolve(index, size, mode), resolve(index + 1, size, mode)}, weight_of(coordinate - 0.5f - below, sampler)};
}

Texel border(const Image& image, const Sampler& sampler) {
  Texel texel;
  for (unsigned i = 0; i < 4; ++i) {
    float value = sampler.border[i];
    bool as_bits = reads_floats(image) || sampler.flags & kBorderBits;
    texel[i] = as_bits ? std::bit_cast<uint32_t>(value) : static_cast<uint32_t>(static_cast<int64_t>(value));
  }
  return texel;
}

Texel fetch(const Image& image, const Sampler& sampler, int64_t x, int64_t y, int64_t z) {
  return within(image, x, y, z) ? decode(image, place(image, x, y, z)) : border(image, sampler);
}

int64_t layer_of(uint32_t layers, float z) {
  float last = static_cast<float>(layers - 1);
  return static_cast<int64_t>(z == z ? std::fmin(std::fmax(std::rint(z), 0.0f), last) : 0.0f);
}

Floats mix(Floats a, Floats b, float weight) { return a * (1.0f - weight) + b * weight; }

// A point of a texture, in coordinates from 0 to 1 or in texels.
struct Point {
  float x, y, z;
  int64_t layer;  // of those with layers
};

Texel sample_level(const Image& image, const Sampler& sampler, uint32_t shape, const Point& point) {
  uint32_t dimensions = shape & codegen::host::kImageDimensions;
  constexpr Taps kFirst{{0, 0}, 0};
  Taps at[3] = {taps(point.x, image.width, sampler, 0),
                dimensions > 1 ? taps(point.y, image.height, sampler, 1) : kFirst,
                dimensions > 2 ? taps(point.z, image.depth, sampler, 2) : kFirst};
  if (shape & (codegen::host::kImageLayers | codegen::host::kImageCube)) at[2].index[0] = point.layer;
  if (!sampler.linear || !reads_floats(image)) {
    return fetch(image, sampler, at[0].index[0], at[1].index[0], at[2].index[0]);
  }
  auto row = [&](int64_t row_y, int64_t row_z) {
    Floats first = floats(fetch(image, sampler, at[0].index[0], row_y, row_z));
    return mix(first, floats(fetch(image, sampler, at[0].index[1], row_y, row_z)), at[0].weight);
  };
  auto plane = [&](int64_t plane_z) {
    Floats first = row(at[1].index[0], plane_z);
    return dimensions > 1 ? mix(first, row(at[1].index[1], plane_z), at[1].weight) : first;
  };
  Floats first = plane(at[2].index[0]);
  return bits(dimensions > 2 ? mix(first, plane(at[2].index[1]), at[2].weight) : first);
}

// Within the levels that there are, and the sampler has.
float clamped_level(const Image& image, const Sampler& sampler, float level) {
  level = level == level ? level : 0;
  level = std::fmax(std::fmin(level, sampler.most_level), sampler.least_level);
  return std::fmax(std::fmin(level, static_cast<float>(image.levels - 1)), 0.0f);
}

constexpr int64_t kFaces = 6;

// The face that a direction leads to, numbered +x, -x, +y, -y, +z, -z, and where it meets that, from 0 to 1.
Point on_face(float x, float y, float z) {
  float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  auto at = [](float s, float t, float major, int64_t face) {
    return Point{(s / major + 1) / 2, (t / major + 1) / 2, 0, face};
  };
  if (az >= ax && az >= ay) return z < 0 ? at(-x, -y, az, 5) : at(x, -y, az, 4);
  if (ay >= ax) return y < 0 ? at(x, -z, ay, 3) : at(x, z, ay, 2);
  return x < 0 ? at(z, -y, ax, 1) : at(-z, -y, ax, 0);
}

// Where a surface's bytes are; null: outside.
std::byte* bytes_of_surface(BlockContext* context, uint32_t thread, uint64_t address, uint32_t bytes, uint32_t bounds,
                            int32_t x, int32_t y, int32_t z) {
  const Image& image = image_at(context, thread, address);
  if (!(image.flags & kBytes)) stop_block(context, thread, "uses a texture object as a surface");
  int64_t row = int64_t{image.width} * image.channels * (image.bits / 8), last = row - bytes;
  if (bounds == codegen::host::kClampToInside && last >= 0) {
    auto clamped = [](int64_t at, int64_t most) { return static_cast<int32_t>(std::clamp<int64_t>(at, 0, most)); };
    x = clamped(x, last);
    y = clamped(y, image.height - 1);
    z = clamped(z, image.depth - 1);
  }
  if (x < 0 || x > last || !within(image, 0, y, z)) {
    if (bounds != codegen::host::kZeroOutside) {
      stop_block(
          context, thread,
          fmt::format("accesses {} bytes at byte {} of row {} of slice or layer {} of a surface that has {} bytes, "
                      "{} rows and {} slices or layers",
                      bytes, x, y, z, row, image.height, image.depth));
    }
    return nullptr;
  }
  if (x % static_cast<int32_t>(bytes) != 0) {
    stop_block(
        context, thread,
        fmt::format("accesses {} bytes at byte {} of a surface's row, which is not a multiple of that", bytes, x),
        codegen::host::kMisaligned);
  }
  return reinterpret_cast<std::byte*>(image.data) + static_cast<uint64_t>(z) * image.slice +
         static_cast<uint64_t>(y) * image.pitch + static_cast<uint64_t>(x);
}

}  // namespace

Image at_level(const Image& first, uint32_t level) {
  Image image = first;
  for (uint32_t i = 0; i < level; ++i) {
    image.data += image.slice * image.depth;
    image.width = std::max(image.width / 2, 1u);
    image.height = std::max(image.height / 2, 1u);
    if (!(image.flags & kLayers)) image.depth = std::max(image.depth / 2, 1u);
    image.pitch = image.width * image.channels * (image.bits / 8u);
    image.slice = uint64_t{image.pitch} * image.height;
  }
  image.levels = 1;
  return image;
}

Texel load_texel(BlockContext* context, uint32_t thread, uint64_t address, int32_t x, int32_t y, int32_t z) {
  const Image& image = texture_at(context, thread, address);
  return within(image, x, y, z) ? decode(image, place(image, x, y, z)) : Texel{};
}

void store_texel(BlockContext* context, uint32_t thread, uint64_t address, int32_t x, int32_t y, int32_t z,
                 Texel texel) {
  const Image& image = image_at(context, thread, address);
  if (!within(image, x, y, z)) return;
  encode(image, place(image, x, y, z), texel);
}

Texel sample_image(BlockContext* context, uint32_t thread, uint64_t address, uint64_t sampler_address, uint32_t shape,
                   float x, float y, float z, float layer, float level) {
  const Image& image = texture_at(context, thread, address);
  Sampler sampler = *reinterpret_cast<const Sampler*>(sampler_address);
  Point point{x, y, z, 0};
  if (shape & codegen::host::kImageCube) {
    sampler.normalized = 1;  // each face has its own
    point = on_face(x, y, z);
    if (image.depth < kFaces) stop_block(context, thread, "reads a texture as a cube, which has fewer than six faces");
    if (shape & codegen::host::kImageLayers) point.layer += kFaces * layer_of(image.depth / kFaces, layer);
  } else if (shape & codegen::host::kImageLayers) {
    point.layer = layer_of(image.depth, layer);
  }
  if (image.levels <= 1) return sample_level(image, sampler, shape, point);
  level = clamped_level(image, sampler, shape & codegen::host::kImageLevel ? level + sampler.level_bias : 0);
  float nearest = std::floor(sampler.linear_levels ? level : level + 0.5f);
  auto at = [&](float number) {
    return sample_level(at_level(image, static_cast<uint32_t>(number)), sampler, shape, point);
  };
  float weight = weight_of(level - nearest, sampler);
  if (!sampler.linear_levels || weight == 0 || !reads_floats(image)) return at(nearest);
  return bits(mix(floats(at(nearest)), floats(at(nearest + 1)), weight));
}

float level_of_slopes(BlockContext* context, uint32_t thread, uint64_t address, uint64_t sampler_address,
                      uint32_t shape, float x0, float y0, float z0, float x1, float y1, float z1) {
  const Image& image = texture_at(context, thread, address);
  if (image.levels <= 1) return 0;
  if (shape & codegen::host::kImageCube) {
    stop_block(context, thread,
               "reads a cube with levels of detail by its slopes, which the host device does not have: give a level");
  }
  bool normalized = reinterpret_cast<const Sampler*>(sampler_address)->normalized;
  auto texels = [&](uint32_t size) { return normalized ? static_cast<float>(size) : 1.0f; };
  auto length = [&](float x, float y, float z) {
    return std::hypot(x * texels(image.width), y * texels(image.height), z * texels(image.depth));
  };
  return std::log2(std::fmax(length(x0, y0, z0), length(x1, y1, z1)));
}

Texel load_surface(BlockContext* context, uint32_t thread, uint64_t address, uint32_t bytes, uint32_t bounds, int32_t x,
                   int32_t y, int32_t z) {
  Texel texel = {};
  const std::byte* from = bytes_of_surface(context, thread, address, bytes, bounds, x, y, z);
  if (from) std::memcpy(&texel, from, bytes);
  return texel;
}

void store_surface(BlockContext* context, uint32_t thread, uint64_t address, uint32_t bytes, uint32_t bounds, int32_t x,
                   int32_t y, int32_t z, Texel texel) {
  std::byte* to = bytes_of_surface(context, thread, address, bytes, bounds, x, y, z);
  if (to) std::memcpy(to, &texel, bytes);
}

// One channel of the four texels around a point, in the order that GPUs have: lower left, lower right, upper right,
// upper left.
Texel gather_texels(BlockContext* context, uint32_t thread, uint64_t address, uint64_t sampler_address,
                    uint32_t channel, float x, float y) {
  const Image& image = texture_at(context, thread, address);
  Sampler sampler = *reinterpret_cast<const Sampler*>(sampler_address);
  sampler.linear = 1;
  Taps column = taps(x, image.width, sampler, 0), row = taps(y, image.height, sampler, 1);
  auto texel = [&](unsigned i, unsigned j) -> uint32_t {
    return fetch(image, sampler, column.index[i], row.index[j], 0)[channel % 4];
  };
  return {texel(0, 1), texel(1, 1), texel(1, 0), texel(0, 0)};
}

uint32_t query_image(BlockContext* context, uint32_t thread, uint64_t address, uint32_t what) {
  const Image& image = image_at(context, thread, address);
  switch (what) {
    case codegen::host::kChannelType:
      return channel_type(image);
    case codegen::host::kChannelOrder:
      return channel_order(image);
    case codegen::host::kImageWidth:
      return image.width;
    case codegen::host::kImageHeight:
      return image.height;
    case codegen::host::kImageLevels:
      return image.levels;
    default:
      return image.depth;
  }
}

}  // namespace mneme::device::host
