// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/services/images.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "device/host/services/services.h"

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

template <typename T>
T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <typename T>
uint32_t decode_integer(const Image& image, const std::byte* from) {
  T value = read<T>(from);
  if (image.flags & kNumbersAsFloats) return std::bit_cast<uint32_t>(static_cast<float>(value));
  if (!(image.flags & kNormalizedRead) || sizeof(T) == 4) return static_cast<uint32_t>(value);  // with its sign
  float part = static_cast<float>(value) / static_cast<float>(std::numeric_limits<T>::max());
  return std::bit_cast<uint32_t>(std::fmax(part, -1.0f));  // the least is as -1 too
}

uint32_t decode_channel(const Image& image, const std::byte* from) {
  switch (image.kind) {
    case TexelKind::kFloat:
      if (image.bits == 16) return std::bit_cast<uint32_t>(static_cast<float>(read<_Float16>(from)));
      return read<uint32_t>(from);
    case TexelKind::kSigned:
      if (image.bits == 8) return decode_integer<int8_t>(image, from);
      if (image.bits == 16) return decode_integer<int16_t>(image, from);
      return decode_integer<int32_t>(image, from);
    default:
      if (image.bits == 8) return decode_integer<uint8_t>(image, from);
      if (image.bits == 16) return decode_integer<uint16_t>(image, from);
      return decode_integer<uint32_t>(image, from);
  }
}

template <typename T>
void encode_integer(const Image& image, std::byte* to, uint32_t word) {
  T value;
  if (image.flags & kNumbersAsFloats) {
    // As a cast would, but defined for what does not fit.
    double number = std::bit_cast<float>(word);
    constexpr double kLeast = std::numeric_limits<T>::min(), kMost = std::numeric_limits<T>::max();
    value = number >= kMost ? std::numeric_limits<T>::max()
                            : static_cast<T>(number > kLeast ? number : (number == number ? kLeast : 0));
  } else {
    value = static_cast<T>(word);
  }
  std::memcpy(to, &value, sizeof value);
}

void encode_channel(const Image& image, std::byte* to, uint32_t word) {
  if (image.kind == TexelKind::kFloat) {
    if (image.bits == 16) {
      auto half = static_cast<_Float16>(std::bit_cast<float>(word));
      std::memcpy(to, &half, sizeof half);
    } else {
      std::memcpy(to, &word, sizeof word);
    }
  } else if (image.kind == TexelKind::kSigned) {
    if (image.bits == 8) return encode_integer<int8_t>(image, to, word);
    if (image.bits == 16) return encode_integer<int16_t>(image, to, word);
    encode_integer<int32_t>(image, to, word);
  } else {
    if (image.bits == 8) return encode_integer<uint8_t>(image, to, word);
    if (image.bits == 16) return encode_integer<uint16_t>(image, to, word);
    encode_integer<uint32_t>(image, to, word);
  }
}

bool reads_floats(const Image& image) {
  return image.kind == TexelKind::kFloat || (image.flags & kNumbersAsFloats) ||
         ((image.flags & kNormalizedRead) && image.bits < 32);
}

bool within(const Image& image, int64_t x, int64_t y, int64_t z) {
  return x >= 0 && y >= 0 && z >= 0 && x < image.width && y < image.height && z < image.depth;
}

std::byte* place(const Image& image, int64_t x, int64_t y, int64_t z) {
  auto* data = reinterpret_cast<std::byte*>(image.data);
  return data + static_cast<uint64_t>(z) * image.slice + static_cast<uint64_t>(y) * image.pitch +
         static_cast<uint64_t>(x) * image.channels * (image.bits / 8u);
}

// Channels that are not there read as 0, the last as 1.
Texel decode(const Image& image, const std::byte* from) {
  Texel texel{0, 0, 0, reads_floats(image) ? std::bit_cast<uint32_t>(1.0f) : 1u};
  for (unsigned i = 0; i < image.channels; ++i) texel[i] = decode_channel(image, from + i * (image.bits / 8u));
  return texel;
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
  return {{resolve(index, size, mode), resolve(index + 1, size, mode)}, coordinate - 0.5f - below};
}

// The border's colour is a number: integers show its value.
Texel border(const Image& image, const Sampler& sampler) {
  Texel texel;
  for (unsigned i = 0; i < 4; ++i) {
    float value = sampler.border[i];
    texel[i] =
        reads_floats(image) ? std::bit_cast<uint32_t>(value) : static_cast<uint32_t>(static_cast<int64_t>(value));
  }
  return texel;
}

Texel fetch(const Image& image, const Sampler& sampler, int64_t x, int64_t y, int64_t z) {
  return within(image, x, y, z) ? decode(image, place(image, x, y, z)) : border(image, sampler);
}

int64_t layer_of(const Image& image, float z) {
  float last = static_cast<float>(image.depth - 1);
  return static_cast<int64_t>(z == z ? std::fmin(std::fmax(std::rint(z), 0.0f), last) : 0.0f);
}

Floats mix(Floats a, Floats b, float weight) { return a * (1.0f - weight) + b * weight; }

}  // namespace

uint32_t channel_type(const Image& image) {
  bool normalized = image.flags & kNormalizedRead;
  uint32_t size = image.bits == 8 ? 0 : image.bits == 16 ? 1 : 2;
  if (image.kind == TexelKind::kFloat) return image.bits == 16 ? 14 : 15;
  if (image.kind == TexelKind::kSigned) return normalized && size < 2 ? size : 8 + size;
  return normalized && size < 2 ? 2 + size : 11 + size;
}

uint32_t channel_order(const Image& image) {
  constexpr uint32_t kR = 1, kRG = 3, kRGBA = 8;
  return image.channels == 1 ? kR : image.channels == 2 ? kRG : kRGBA;
}

Texel load_texel(BlockContext* context, uint32_t thread, uint64_t address, int32_t x, int32_t y, int32_t z) {
  const Image& image = image_at(context, thread, address);
  return within(image, x, y, z) ? decode(image, place(image, x, y, z)) : Texel{};
}

void store_texel(BlockContext* context, uint32_t thread, uint64_t address, int32_t x, int32_t y, int32_t z,
                 Texel texel) {
  const Image& image = image_at(context, thread, address);
  if (!within(image, x, y, z)) return;
  std::byte* to = place(image, x, y, z);
  for (unsigned i = 0; i < image.channels; ++i) encode_channel(image, to + i * (image.bits / 8u), texel[i]);
}

Texel sample_image(BlockContext* context, uint32_t thread, uint64_t address, uint64_t sampler_address, uint32_t shape,
                   float x, float y, float z) {
  const Image& image = image_at(context, thread, address);
  const auto& sampler = *reinterpret_cast<const Sampler*>(sampler_address);
  uint32_t dimensions = shape & codegen::host::kImageDimensions;
  constexpr Taps kFirst{{0, 0}, 0};
  Taps at[3] = {taps(x, image.width, sampler, 0), dimensions > 1 ? taps(y, image.height, sampler, 1) : kFirst,
                dimensions > 2 ? taps(z, image.depth, sampler, 2) : kFirst};
  if (shape & codegen::host::kImageLayers) {
    at[2].index[0] = layer_of(image, z);
    at[2].weight = 0;
  }
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

// One channel of the four texels around a point, in the order that GPUs have: lower left, lower right, upper right,
// upper left.
Texel gather_texels(BlockContext* context, uint32_t thread, uint64_t address, uint64_t sampler_address,
                    uint32_t channel, float x, float y) {
  const Image& image = image_at(context, thread, address);
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
  return what == codegen::host::kChannelType ? channel_type(image) : channel_order(image);
}

}  // namespace mneme::device::host
