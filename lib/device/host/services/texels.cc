// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/services/texels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace mneme::device::host {

using codegen::host::Texel;

namespace {

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

// IEC 61966-2-1, of a fraction's bits.
uint32_t linear_of_srgb(uint32_t bits) {
  auto value = std::bit_cast<float>(bits);
  value = value <= 0.04045f ? value / 12.92f : std::pow((value + 0.055f) / 1.055f, 2.4f);
  return std::bit_cast<uint32_t>(value);
}

}  // namespace

bool reads_floats(const Image& image) {
  return image.kind == TexelKind::kFloat || (image.flags & kNumbersAsFloats) ||
         ((image.flags & kNormalizedRead) && image.bits < 32);
}

// Channels that are not there read as 0, the last as 1.
Texel decode(const Image& image, const std::byte* from) {
  Texel texel{0, 0, 0, reads_floats(image) ? std::bit_cast<uint32_t>(1.0f) : 1u};
  for (unsigned i = 0; i < image.channels; ++i) texel[i] = decode_channel(image, from + i * (image.bits / 8u));
  if (image.flags & kSrgb) {
    for (unsigned i = 0; i < std::min<unsigned>(image.channels, 3); ++i) texel[i] = linear_of_srgb(texel[i]);
  }
  return texel;
}

void encode(const Image& image, std::byte* to, Texel texel) {
  for (unsigned i = 0; i < image.channels; ++i) encode_channel(image, to + i * (image.bits / 8u), texel[i]);
}

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

}  // namespace mneme::device::host
