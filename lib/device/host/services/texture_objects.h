// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Texture objects, of what HIP's and CUDA's interfaces say of them in words of their own, and recordings too.
#pragma once
#include <cstdint>
#include <stdexcept>

#include "device/host/services/images.h"

namespace mneme::device::host {

struct TexelFormat {
  TexelKind kind = TexelKind::kFloat;
  unsigned bits = 0;      // of a channel
  unsigned channels = 0;  // 1, 2, 4

  uint64_t bytes() const { return uint64_t{bits} / 8 * channels; }
};

// All of these are numbered in both vendors' interfaces alike.
struct View {
  unsigned format = 0;  // cudaResourceViewFormat; 0: the image's own
  uint64_t width = 0, height = 0, depth = 0;
  unsigned first_level = 0, last_level = 0, first_layer = 0, last_layer = 0;
};

struct Sampling {
  unsigned address[3] = {};               // cudaTextureAddressMode
  unsigned filter = 0, level_filter = 0;  // cudaTextureFilterMode
  bool fractions = false;                 // integers of 8 and 16 bits are read as such
  bool normalized = false, srgb = false;
  unsigned anisotropy = 0;
  float level_bias = 0, least_level = 0, most_level = 0;
  float border[4] = {};
  // What CUDA's textures have otherwise than HIP's: SamplerFlags; and filters that reach over the edges of a cube's
  // faces.
  bool cuda = false, seamless = false;
};

// What no interface takes. mneme::Error, on the other hand, is what only the host device does not have.
struct BadTexture : std::invalid_argument {
  using invalid_argument::invalid_argument;
};

// An image without its data.
Image image_of(const TexelFormat& format);
// Both throw Error and BadTexture. `view` may be null.
void take_view(Image& image, const View* view);
TextureObject make_texture_object(const Image& image, const View* view, const Sampling& sampling);

}  // namespace mneme::device::host
