// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/services/texture_objects.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace mneme::device::host {
namespace {

constexpr uint32_t kFaces = 6;

[[noreturn]] void refuse(const std::string& what) { throw Error(what + " are not available on the host device"); }

void require(bool condition, const char* what) {
  if (!condition) throw BadTexture(what);
}

// A view's format, which must be of the same size: eight formats in the order of their numbers, of 1, 2 and 4 channels.
TexelFormat viewed_as(unsigned format) {
  constexpr TexelFormat kFormats[] = {{TexelKind::kUnsigned, 8, 1},  {TexelKind::kSigned, 8, 1},
                                      {TexelKind::kUnsigned, 16, 1}, {TexelKind::kSigned, 16, 1},
                                      {TexelKind::kUnsigned, 32, 1}, {TexelKind::kSigned, 32, 1},
                                      {TexelKind::kFloat, 16, 1},    {TexelKind::kFloat, 32, 1}};
  if (format > std::size(kFormats) * 3) refuse("block-compressed textures");
  TexelFormat wanted = kFormats[(format - 1) / 3];
  wanted.channels = 1u << (format - 1) % 3;
  return wanted;
}

void take_format(Image& image, unsigned format) {
  if (format == 0) return;
  TexelFormat wanted = viewed_as(format);
  require(wanted.bytes() == TexelFormat{image.kind, image.bits, image.channels}.bytes(),
          "a view's texels are of another size");
  image.kind = wanted.kind;
  image.bits = static_cast<uint8_t>(wanted.bits);
  image.channels = static_cast<uint8_t>(wanted.channels);
}

AddressMode address_mode(unsigned number) {
  require(number <= static_cast<unsigned>(AddressMode::kBorder), "there is no such address mode");
  return static_cast<AddressMode>(number);
}

bool is_linear(unsigned filter) {
  require(filter <= 1, "there is no such filter");
  return filter == 1;
}

bool reads_fractions(const Image& image, const Sampling& sampling) {
  return sampling.fractions && image.kind != TexelKind::kFloat;
}

Sampler sampler_of(const Image& image, const Sampling& sampling) {
  Sampler sampler;
  for (int axis = 0; axis < 3; ++axis) sampler.address[axis] = address_mode(sampling.address[axis]);
  bool linear = is_linear(sampling.filter);
  bool floats = image.kind == TexelKind::kFloat || (sampling.fractions && image.bits < 32);
  require(!linear || floats, "there is nothing between two integers");
  if (image.levels > 1 && linear && sampling.anisotropy > 1) refuse("anisotropic filters");
  bool may_be_cube = image.flags & kLayers && image.depth % kFaces == 0;
  if (sampling.seamless && linear && may_be_cube) refuse("filters over the edges of a cube's faces");
  sampler.linear = linear;
  sampler.normalized = sampling.normalized;
  sampler.linear_levels = is_linear(sampling.level_filter);
  sampler.level_bias = sampling.level_bias;
  sampler.least_level = sampling.least_level;
  sampler.most_level = sampling.most_level;
  std::ranges::copy(sampling.border, sampler.border);
  if (sampling.cuda) sampler.flags = kWeightsOf256ths | kBorderBits;
  return sampler;
}

}  // namespace

Image image_of(const TexelFormat& format) {
  Image image;
  image.kind = format.kind;
  image.bits = static_cast<uint8_t>(format.bits);
  image.channels = static_cast<uint8_t>(format.channels);
  return image;
}

void take_view(Image& image, const View* view) {
  if (!view) return;
  take_format(image, view->format);
  bool whole = (!view->width || view->width == image.width) && (!view->height || view->height == image.height) &&
               (!view->depth || view->depth == image.depth || image.flags & kLayers);
  if (!whole) refuse("views of part of an array's texels");
  require(view->first_level <= view->last_level && view->last_level < image.levels,
          "a view has levels that an array "
          "does not have");
  uint32_t levels = view->last_level - view->first_level + 1;
  image = at_level(image, view->first_level);
  image.levels = levels;
  if (!(image.flags & kLayers) || (view->first_layer == 0 && view->last_layer == 0)) return;
  require(view->first_layer <= view->last_layer && view->last_layer < image.depth,
          "a view has layers that an array does not have");
  uint32_t layers = view->last_layer - view->first_layer + 1;
  if (levels > 1 && layers != image.depth) refuse("views of some layers of an array with levels");
  image.data += view->first_layer * image.slice;
  image.depth = layers;
}

TextureObject make_texture_object(const Image& image, const View* view, const Sampling& sampling) {
  TextureObject object;
  object.image = image;
  take_view(object.image, view);
  if (reads_fractions(object.image, sampling)) {
    object.image.flags |= kNormalizedRead;
    bool bytes = object.image.kind == TexelKind::kUnsigned && object.image.bits == 8;
    if (sampling.srgb && bytes) object.image.flags |= kSrgb;
  }
  object.sampler = sampler_of(object.image, sampling);
  return object;
}

}  // namespace mneme::device::host
