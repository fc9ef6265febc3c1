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
  Texel texel = sample_image(nullptr, 0, address(object.image), reinterpret_cast<uint64_t>(&object.sampler), shape, x,
                             y, 0, 0, 0);
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

// Of 0 and 256, at 1/3 between them: 85.33 of them, or of 256ths 85.
TEST(Images, NvidiasWeightsAre256ths) {
  std::vector<float> texels = {0, 256};
  TextureObject object = object_of(texels, 2, 1, TexelKind::kFloat);
  object.sampler.linear = 1;
  EXPECT_FLOAT_EQ(sample(object, 1, 0.5f + 1.0f / 3), 256.0f / 3);
  object.sampler.flags = kWeightsOf256ths;
  EXPECT_EQ(sample(object, 1, 0.5f + 1.0f / 3), 85);
  EXPECT_EQ(sample(object, 1, 0.5f + 0.999f), 256) << "the nearest to 0.999 is 1";
  EXPECT_EQ(sample(object, 1, 0.5f + 0.001f), 0);
}

// At -1/8 of four texels 1, 2, 4, 8: half a texel left of the first's left edge, that is in its neighbour's middle.
TEST(Images, FiltersReachOverTheEdges) {
  std::vector<float> texels = {1, 2, 4, 8};
  TextureObject object = object_of(texels, 4, 1, TexelKind::kFloat);
  object.sampler.linear = object.sampler.normalized = 1;
  object.sampler.border[0] = 16;
  auto at = [&](AddressMode mode, float x) {
    object.sampler.address[0] = mode;
    return sample(object, 1, x);
  };
  EXPECT_EQ(at(AddressMode::kWrap, -0.125f), 8);
  EXPECT_EQ(at(AddressMode::kMirror, -0.125f), 1);
  EXPECT_EQ(at(AddressMode::kClamp, -0.125f), 1);
  EXPECT_EQ(at(AddressMode::kBorder, -0.125f), 16);
  // In the edge itself half of both.
  EXPECT_EQ(at(AddressMode::kWrap, 1.0f), 4.5f);
  EXPECT_EQ(at(AddressMode::kMirror, 1.0f), 8);
  EXPECT_EQ(at(AddressMode::kClamp, 1.0f), 8);
  EXPECT_EQ(at(AddressMode::kBorder, 1.0f), 12);
  // One texel further, the next but one and the next.
  EXPECT_EQ(at(AddressMode::kWrap, 1.25f), 1.5f);
  EXPECT_EQ(at(AddressMode::kMirror, 1.25f), 6);
}

TEST(Images, IntegersBordersAreValuesOrBits) {
  std::vector<int> texels = {5, 5};
  TextureObject object = object_of(texels, 2, 1, TexelKind::kSigned);
  object.sampler.address[0] = AddressMode::kBorder;
  object.sampler.border[0] = 2;
  EXPECT_EQ(std::bit_cast<int>(sample(object, 1, -1.0f)), 2);
  object.sampler.flags = kBorderBits;
  EXPECT_EQ(std::bit_cast<int>(sample(object, 1, -1.0f)), 0x40000000);
}

TEST(Images, SrgbIsIntensities) {
  std::vector<uint8_t> texels = {0, 10, 188, 255};
  TextureObject object = object_of(texels, 4, 1, TexelKind::kUnsigned);
  object.image.flags = kNormalizedRead | kSrgb;
  EXPECT_EQ(sample(object, 1, 0.5f), 0);
  EXPECT_NEAR(sample(object, 1, 1.5f), 10 / 255.0 / 12.92, 1e-6);
  EXPECT_NEAR(sample(object, 1, 2.5f), 0.502886, 1e-5);
  EXPECT_EQ(sample(object, 1, 3.5f), 1);
}

// 4 x 2 texels, then 2 x 1, then 1.
TEST(Images, LevelsLieBehindEachOther) {
  std::vector<float> texels = {1, 2, 3, 4, 5, 6, 7, 8, 20, 40, 100};
  TextureObject object = object_of(texels, 4, 2, TexelKind::kFloat);
  object.image.slice = 8 * sizeof(float);
  object.image.levels = 3;
  object.sampler.normalized = 1;
  object.sampler.most_level = 9;
  auto at = [&](float level, float x = 0.7f, float y = 0.7f) {
    Texel texel = sample_image(nullptr, 0, address(object.image), reinterpret_cast<uint64_t>(&object.sampler),
                               2 | codegen::host::kImageLevel, x, y, 0, 0, level);
    return std::bit_cast<float>(static_cast<uint32_t>(texel[0]));
  };
  EXPECT_EQ(at(0), 7);
  EXPECT_EQ(at(0.4f), 7) << "the nearest";
  EXPECT_EQ(at(0.6f), 40);
  EXPECT_EQ(at(1, 0.3f), 20);
  EXPECT_EQ(at(7), 100) << "the last";
  EXPECT_EQ(at(-3), 7);
  EXPECT_EQ(at(NAN), 7);
  object.sampler.linear_levels = 1;
  EXPECT_EQ(at(0.25f), 7 + 0.25f * (40 - 7));
  object.sampler.level_bias = 0.5f;
  EXPECT_EQ(at(1), 70);
  object.sampler.most_level = 1;
  EXPECT_EQ(at(1), 40);
  object.sampler.least_level = 1;
  EXPECT_EQ(sample(object, 2, 0.7f, 0.7f), 40) << "where no level is given the first that the sampler has";
  // Two texels of the first level a step: one of the second.
  auto level = [&](float x0, float y0, float x1, float y1) {
    return level_of_slopes(nullptr, 0, address(object.image), reinterpret_cast<uint64_t>(&object.sampler), 2, x0, y0, 0,
                           x1, y1, 0);
  };
  EXPECT_EQ(level(0.5f, 0, 0, 0.5f), 1);
  EXPECT_EQ(level(0.25f, 0, 0, 1), 1);
  EXPECT_EQ(level(0.75f, 2, 0, 0), std::log2(5.0f)) << "3 and 4 texels";
}

TEST(Images, DirectionsMeetFacesOfCubes) {
  std::vector<float> texels;
  for (int face = 0; face < 12; ++face)
    texels.insert(texels.end(), {face * 10.0f, face * 10.0f + 1, face * 10.0f + 2, face * 10.0f + 3});
  TextureObject object = object_of(texels, 2, 2, TexelKind::kFloat);
  object.image.depth = 12;
  object.image.slice = 4 * sizeof(float);
  object.image.flags = kLayers;
  auto at = [&](float x, float y, float z, float layer = 0) {
    Texel texel = sample_image(nullptr, 0, address(object.image), reinterpret_cast<uint64_t>(&object.sampler),
                               2 | codegen::host::kImageCube | codegen::host::kImageLayers, x, y, z, layer, 0);
    return std::bit_cast<float>(static_cast<uint32_t>(texel[0]));
  };
  // Columns and rows of a face run along these axes, each from its beginning.
  EXPECT_EQ(at(1, 0.5f, 0.5f), 0) << "-z, -y";
  EXPECT_EQ(at(1, -0.5f, 0.5f), 2);
  EXPECT_EQ(at(-2, 1, 1), 11) << "z, -y";
  EXPECT_EQ(at(0.5f, 1, -0.5f), 21) << "x, z";
  EXPECT_EQ(at(0.5f, -1, -0.5f), 33) << "x, -z";
  EXPECT_EQ(at(-0.5f, 0.5f, 1), 40) << "x, -y";
  EXPECT_EQ(at(-0.5f, -0.5f, -1), 53) << "-x, -y";
  EXPECT_EQ(at(1, 0.5f, 0.5f, 1), 60) << "of the second cube";
  EXPECT_EQ(at(1, 0.5f, 0.5f, 9), 60) << "the last";
}

TEST(Images, SurfacesAreBytes) {
  std::vector<int16_t> texels = {1, 2, 3, 4, 5, 6};
  TextureObject object = object_of(texels, 3, 2, TexelKind::kSigned);
  object.image.flags = kBytes;
  auto load = [&](uint32_t bytes, uint32_t bounds, int x, int y) {
    return load_surface(nullptr, 0, address(object.image), bytes, bounds, x, y, 0)[0];
  };
  EXPECT_EQ(load(2, codegen::host::kTrapOutside, 4, 1), 6u);
  EXPECT_EQ(load(4, codegen::host::kTrapOutside, 0, 1), 0x50004u) << "two texels";
  EXPECT_EQ(load(2, codegen::host::kZeroOutside, 6, 0), 0u);
  EXPECT_EQ(load(4, codegen::host::kZeroOutside, 4, 0), 0u) << "in part";
  EXPECT_EQ(load(2, codegen::host::kClampToInside, 60, -4), 3u);
  EXPECT_EQ(load(2, codegen::host::kClampToInside, -60, 9), 4u);
  auto store = [&](uint32_t bounds, int x, int y, uint32_t value) {
    store_surface(nullptr, 0, address(object.image), 2, bounds, x, y, 0, Texel{value, 0, 0, 0});
  };
  store(codegen::host::kZeroOutside, 6, 0, 77);
  store(codegen::host::kZeroOutside, -2, 1, 77);
  store(codegen::host::kTrapOutside, 2, 0, 20);
  store(codegen::host::kClampToInside, 8, 8, 60);
  EXPECT_EQ(texels, (std::vector<int16_t>{1, 20, 3, 4, 5, 60}));
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
