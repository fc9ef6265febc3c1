// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Images on the host device: what texture and surface objects of HIP and CUDA point to, and the services that read and
// write through them. The objects lie in device memory, where HIP's device headers expect an image at the object's
// address and a sampler twelve words behind it; what is in them is our own business.
#pragma once
#include <cstdint>

#include "codegen/host/abi.h"

namespace mneme::device::host {

enum class TexelKind : uint8_t { kUnsigned = 0, kSigned = 1, kFloat = 2 };

enum ImageFlags : uint8_t {
  kNormalizedRead = 1,  // integers of 8 and 16 bits are read as fractions of the largest
  // Integers go in and out as floats of the same value. HIP 5's surface functions convert each texel that way,
  // so that on AMD's GPUs, which give them an integer's bits, only floating point comes through.
  kNumbersAsFloats = 2,
  kLayers = 4,  // depth is a number of layers, or of faces, which each level has as many of
  kSrgb = 8,    // the first three channels are read as the linear intensities that they stand for
  kBytes = 16   // a surface of CUDA's, which is read and written as bytes
};

struct Image {
  static constexpr uint32_t kMagic = 0x49454e4d;

  uint32_t magic = kMagic;
  TexelKind kind = TexelKind::kFloat;
  uint8_t bits = 32;     // of a channel: 8, 16, 32
  uint8_t channels = 1;  // 1, 2, 4
  uint8_t flags = 0;     // ImageFlags
  uint64_t data = 0;
  uint32_t width = 1, height = 1, depth = 1;  // texels, rows, slices or layers: none is 0
  uint32_t pitch = 0;                         // bytes from row to row
  uint64_t slice = 0;                         // bytes from slice to slice
  // Each with half the texels of the one before in each dimension, rounded down, but at least 1; they lie one behind
  // the other, with nothing in them or between them but texels.
  uint32_t levels = 1;
  uint32_t unused = 0;
};
static_assert(sizeof(Image) == codegen::host::kSamplerOffset);

enum class AddressMode : uint8_t { kWrap = 0, kClamp = 1, kMirror = 2, kBorder = 3 };  // numbered as HIP does

enum SamplerFlags : uint8_t {
  kWeightsOf256ths = 1,  // as NVIDIA's GPUs have them; else of single precision
  kBorderBits = 2        // the border of integers is the colour's bits, as CUDA has it; else its value
};

struct Sampler {
  AddressMode address[3] = {};
  uint8_t linear = 0;         // 0: the texel that the point lies in
  uint8_t normalized = 0;     // coordinates run from 0 to 1
  uint8_t flags = 0;          // SamplerFlags
  uint8_t linear_levels = 0;  // 0: the nearest level
  uint8_t unused = 0;
  float level_bias = 0, least_level = 0, most_level = 0;
  float border[4] = {};
};
static_assert(sizeof(Sampler) == 9 * sizeof(uint32_t));

struct TextureObject {
  Image image;
  Sampler sampler;
  uint32_t unused = 0;  // in place of padding: recordings have its bytes
};

// One of an image's levels, by itself.
Image at_level(const Image& image, uint32_t level);

// HSA's numbers for a format, which HIP's device functions compute with.
uint32_t channel_type(const Image& image);
uint32_t channel_order(const Image& image);

// Members of Services (codegen/host/abi.h).
codegen::host::Texel load_texel(codegen::host::BlockContext* context, uint32_t thread, uint64_t image, int32_t x,
                                int32_t y, int32_t z);
void store_texel(codegen::host::BlockContext* context, uint32_t thread, uint64_t image, int32_t x, int32_t y, int32_t z,
                 codegen::host::Texel texel);
codegen::host::Texel sample_image(codegen::host::BlockContext* context, uint32_t thread, uint64_t image,
                                  uint64_t sampler, uint32_t shape, float x, float y, float z, float layer,
                                  float level);
codegen::host::Texel gather_texels(codegen::host::BlockContext* context, uint32_t thread, uint64_t image,
                                   uint64_t sampler, uint32_t channel, float x, float y);
uint32_t query_image(codegen::host::BlockContext* context, uint32_t thread, uint64_t image, uint32_t what);
float level_of_slopes(codegen::host::BlockContext* context, uint32_t thread, uint64_t image, uint64_t sampler,
                      uint32_t shape, float x0, float y0, float z0, float x1, float y1, float z1);
codegen::host::Texel load_surface(codegen::host::BlockContext* context, uint32_t thread, uint64_t image, uint32_t bytes,
                                  uint32_t bounds, int32_t x, int32_t y, int32_t z);
void store_surface(codegen::host::BlockContext* context, uint32_t thread, uint64_t image, uint32_t bytes,
                   uint32_t bounds, int32_t x, int32_t y, int32_t z, codegen::host::Texel texel);

}  // namespace mneme::device::host
