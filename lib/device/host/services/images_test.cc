// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/services/images.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace mneme::device::host {
namespace {

using codegen::host::Texel;

template <typename T>
TextureObject object_of(std::vector<T>& texels, uint32_t width, uint32_t height, TexelKind kind) {
  TextureObject object;
  object.image.kind = kind;
  object.image.bits = sizeof(T) * 8;
  object.image.data = reinterpret_cast<uint64_t>(texels.data());
  object.image.width = width;
  object.image.height = height;
  object.image.pitch = width * sizeof(T);
  object.image.slice = texels.size() * sizeof(T);
  for (AddressMode& mode : object.sampler.address) mode = AddressMode::kClamp;
  return object;
}

uint64_t address(const Image& image) { return reinterpret_cast<uint64_t>(&image); }

float sample(const TextureObject& object, uint32_t shape, float x, float y = 0) {
  Texel texel =
      sample_image(nullptr, 0, address(object.image), reinterpret_cast<uint64_t>(&object.sampler), shape, x, y, 0);
  return std::bit_cast<float>(static_cast<uint32_t>(texel[0]));
}

TEST(Images, ReadsNothingOutside) {
  std::vector<int> texels = {1, 2, 3, 4, 5, 6};
  TextureObject object = object_of(texels, 3, 2, TexelKind::kSigned);
  auto at = [&](int x, int y) { return load_texel(nullptr, 0, address(object.image), x, y, 0)[0]; };
  EXPECT_EQ(at(2, 1), 6u);
  for (auto [x, y] : {std::pair{3, 0}, {-1, 0}, {0, 2}, {0, -1}, {INT32_MIN, INT32_MAX}}) EXPECT_EQ(at(x, y), 0u);
}

TEST(Images, StoresNothingOutside) {
  std::vector<int> texels(8, 7);
  TextureObject object = object_of(texels, 3, 2, TexelKind::kSigned);
  for (auto [x, y] : {std::pair{3, 0}, {-1, 0}, {0, 2}, {1, 1}}) {
    store_texel(nullptr, 0, address(object.image), x, y, 0, Texel{42, 0, 0, 0});
  }
  EXPECT_EQ(texels, (std::vector<int>{7, 7, 7, 7, 42, 7, 7, 7}));
}

TEST(Images, KeepSignsOfIntegers) {
  std::vector<int8_t> texels = {-3, 4};
  TextureObject object = object_of(texels, 2, 1, TexelKind::kSigned);
  EXPECT_EQ(static_cast<int32_t>(load_texel(nullptr, 0, address(object.image), 0, 0, 0)[0]), -3);
  EXPECT_EQ(load_texel(nullptr, 0, address(object.image), 0, 0, 0)[3], 1u) << "the last channel, which is not there";
}

TEST(Images, NumbersGoThroughAsFloats) {
  std::vector<uint8_t> texels(3);
  TextureObject object = object_of(texels, 3, 1, TexelKind::kUnsigned);
  object.image.flags = kNumbersAsFloats;
  const float values[] = {200.7f, 1e9f, -5.0f};
  for (int x = 0; x < 3; ++x) {
    store_texel(nullptr, 0, address(object.image), x, 0, 0, Texel{std::bit_cast<uint32_t>(values[x]), 0, 0, 0});
  }
  EXPECT_EQ(texels, (std::vector<uint8_t>{200, 255, 0})) << "what does not fit is the nearest that does";
  EXPECT_EQ(std::bit_cast<float>(static_cast<uint32_t>(load_texel(nullptr, 0, address(object.image), 0, 0, 0)[0])),
            200.0f);
}

TEST(Images, LeastSignedFractionIsMinusOne) {
  std::vector<int8_t> texels = {-128, -127, 127};
  TextureObject object = object_of(texels, 3, 1, TexelKind::kSigned);
  object.image.flags = kNormalizedRead;
  EXPECT_EQ(sample(object, 1, 0.5f), -1);
  EXPECT_EQ(sample(object, 1, 1.5f), -1);
  EXPECT_EQ(sample(object, 1, 2.5f), 1);
}

TEST(Images, StrangeCoordinatesAreSomewhere) {
  std::vector<float> texels = {1, 2, 3, 4};
  TextureObject object = object_of(texels, 4, 1, TexelKind::kFloat);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(sample(object, 1, kInfinity), 4);
  EXPECT_EQ(sample(object, 1, -kInfinity), 1);
  EXPECT_EQ(sample(object, 1, NAN), 1);
  object.sampler.linear = 1;
  EXPECT_EQ(sample(object, 1, 1e30f), 4);
  object.sampler.normalized = 1;
  for (AddressMode mode : {AddressMode::kWrap, AddressMode::kMirror}) {
    object.sampler.address[0] = mode;
    float value = sample(object, 1, -1e30f);
    EXPECT_TRUE(value >= 1 && value <= 4) << value;
  }
}

TEST(Images, BorderHasItsColour) {
  std::vector<float> texels = {1, 1};
  TextureObject object = object_of(texels, 2, 1, TexelKind::kFloat);
  object.sampler.linear = 1;
  object.sampler.address[0] = AddressMode::kBorder;
  object.sampler.border[0] = 3;
  EXPECT_EQ(sample(object, 1, 0.0f), 2) << "half of it";
  EXPECT_EQ(sample(object, 1, -5.0f), 3);
}

TEST(Images, TellTheirFormatInHsasNumbers) {
  Image image;
  image.channels = 4;
  EXPECT_EQ(channel_type(image), 15u);
  EXPECT_EQ(channel_order(image), 8u);
  image.kind = TexelKind::kSigned;
  image.bits = 16;
  image.channels = 2;
  EXPECT_EQ(channel_type(image), 9u);
  EXPECT_EQ(channel_order(image), 3u);
  image.flags = kNormalizedRead;
  EXPECT_EQ(channel_type(image), 1u);
}

}  // namespace
}  // namespace mneme::device::host
