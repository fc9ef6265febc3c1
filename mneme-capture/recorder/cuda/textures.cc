// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Textures and surfaces are not followed from their making on, but for which there are and for borders
// (cuda/hooks/texture.cc): the driver knows what each handle stands for.
#include "recorder/cuda/textures.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "bundle/textures.h"
#include "objects/lifted_kernels.h"
#include "recorder/cuda/runtime.h"
#include "recorder/runtime/next.h"
#include "vendor/cuda/textures.h"

namespace mneme::record::cuda {

namespace driver = vendor::cuda;

CALL(Status, cuTexObjectGetResourceDesc, driver::Resource*, driver::Object)
CALL(Status, cuTexObjectGetTextureDesc, driver::Sampling*, driver::Object)
CALL(Status, cuTexObjectGetResourceViewDesc, driver::View*, driver::Object)
CALL(Status, cuSurfObjectGetResourceDesc, driver::Resource*, driver::Object)
CALL(Status, cuArray3DGetDescriptor_v2, driver::ArrayDescription*, driver::Array)
CALL(Status, cuMipmappedArrayGetLevel, driver::Array*, driver::Array, unsigned)
CALL(Status, cuMemcpy3D_v2, const driver::Copy*)

namespace {

using bundle::TextureSource;

constexpr unsigned kMostLevels = 32;

class Asking {
 public:
  // Throws Error with what is not recorded.
  void add(const bundle::Handle& handle, const std::string& arguments) {
    bundle::TextureObject object;
    object.argument = static_cast<uint32_t>(handle.argument);
    object.surface = handle.surface;
    driver::Object value = 0;
    if (object.argument > arguments.size() || arguments.size() - object.argument < sizeof value) {
      throw mneme::Error("a handle lies behind the arguments");
    }
    std::memcpy(&value, arguments.data() + object.argument, sizeof value);
    if (value == 0) return;  // none, which the kernel does not use
    driver::Resource resource{};
    const auto& next = handle.surface ? next::cuSurfObjectGetResourceDesc : next::cuTexObjectGetResourceDesc;
    if (next(&resource, value) != kSuccess) {
      throw mneme::Error::of("the driver knows no {} by the handle {:#x} at byte {} of the arguments",
                             handle.surface ? "surface" : "texture", value, object.argument);
    }
    add_resource(object, resource);
    if (!handle.surface) add_sampling(object, value);
    found_.objects.push_back(object);
  }

  TexturesOfLaunch take() { return std::move(found_); }

 private:
  void add_resource(bundle::TextureObject& object, const driver::Resource& resource) {
    object.source = static_cast<TextureSource>(resource.type);
    switch (object.source) {
      case TextureSource::kArray:
      case TextureSource::kMipmappedArray:
        object.address = number_of(resource.array, object.source == TextureSource::kMipmappedArray);
        return;
      case TextureSource::kLinear:
        object.address = resource.linear.address;
        object.format = static_cast<uint32_t>(resource.linear.format);
        object.channels = resource.linear.channels;
        object.width = resource.linear.bytes;
        break;
      case TextureSource::kPitched:
        object.address = resource.pitched.address;
        object.format = static_cast<uint32_t>(resource.pitched.format);
        object.channels = resource.pitched.channels;
        object.width = resource.pitched.width;
        object.height = resource.pitched.height;
        object.pitch = resource.pitched.pitch;
        break;
      default:
        throw mneme::Error("a texture stands for something that is neither memory nor an array");
    }
    if (!bundle::bytes_in_memory(object)) throw mneme::Error("a texture is of memory in a format that is not recorded");
  }

  void add_sampling(bundle::TextureObject& object, driver::Object handle) {
    driver::Sampling sampling{};
    if (next::cuTexObjectGetTextureDesc(&sampling, handle) != kSuccess) {
      throw mneme::Error("the driver does not say how a texture is sampled");
    }
    std::ranges::copy(sampling.words, object.sampling.begin());
    std::ranges::copy(handled_by(handle).border, object.sampling.begin() + driver::kBorder);
    driver::View view{};
    // Where there is none it is an error, or nothing is written.
    if (next::cuTexObjectGetResourceViewDesc(&view, handle) != kSuccess) return;
    const std::array<uint64_t, 8> numbers = {static_cast<uint64_t>(view.format),
                                             view.width,
                                             view.height,
                                             view.depth,
                                             view.first_level,
                                             view.last_level,
                                             view.first_layer,
                                             view.last_layer};
    if (numbers != std::array<uint64_t, 8>{}) object.view = numbers;
  }

  // Of the array among those found; several objects may stand for one.
  uint64_t number_of(driver::Array array, bool mipmapped) {
    auto known = std::ranges::find(handles_, array);
    if (known != handles_.end()) return static_cast<uint64_t>(known - handles_.begin());
    std::vector<void*> levels{array};
    if (mipmapped) levels = levels_of(array);
    driver::ArrayDescription said{};
    if (levels.empty() || next::cuArray3DGetDescriptor_v2(&said, levels[0]) != kSuccess) {
      throw mneme::Error("the driver does not describe a texture's array");
    }
    bundle::TextureArray described;
    described.width = said.width;
    described.height = said.height;
    described.depth = said.depth;
    described.format = static_cast<uint32_t>(said.format);
    described.channels = said.channels;
    described.flags = said.flags;
    described.levels = mipmapped ? static_cast<uint32_t>(levels.size()) : 0;
    if (!bundle::layout_of(described)) {
      throw mneme::Error("a texture's array is compressed, sparse or of several planes, which is not recorded");
    }
    handles_.push_back(array);
    found_.arrays.push_back(described);
    found_.levels.push_back(std::move(levels));
    return handles_.size() - 1;
  }

  // The driver does not count levels: it refuses the first that is not there.
  static std::vector<void*> levels_of(driver::Array array) {
    std::vector<void*> levels;
    driver::Array level = nullptr;
    while (levels.size() < kMostLevels &&
           next::cuMipmappedArrayGetLevel(&level, array, static_cast<unsigned>(levels.size())) == kSuccess) {
      levels.push_back(level);
    }
    return levels;
  }

  TexturesOfLaunch found_;
  std::vector<driver::Array> handles_;  // of each array
};

// Of a kernel with neither IR nor PTX: every 8 bytes of an argument, as such values are aligned, that are a handle that
// there is.
std::vector<bundle::Handle> handles_among(const bundle::KernelInfo& kernel, const std::string& arguments) {
  constexpr uint64_t kBytes = sizeof(driver::Object);
  std::vector<bundle::Handle> found;
  for (const bundle::Argument& argument : kernel.arguments) {
    const uint64_t end = std::min<uint64_t>(uint64_t{argument.offset} + argument.size, arguments.size());
    for (uint64_t at = (argument.offset + kBytes - 1) / kBytes * kBytes; at + kBytes <= end; at += kBytes) {
      driver::Object value = 0;
      std::memcpy(&value, arguments.data() + at, kBytes);
      const Handled handled = value ? handled_by(value) : Handled();
      if (handled.texture && handled.surface) {
        throw mneme::Error::of(
            "the 8 bytes at {} in the arguments are the handle of a texture, and also of a surface: which is meant is "
            "not known",
            at);
      }
      if (handled.texture || handled.surface) found.push_back({static_cast<int64_t>(at), handled.surface});
    }
  }
  return found;
}

// Throws Error where that is not known.
std::vector<bundle::Handle> handles_of(const bundle::KernelInfo& kernel, const std::string& arguments) {
  if (!kernel.handles.empty()) return kernel.handles;
  const bool uses_any = uses(kernel, bundle::kTextures);
  if (has_ir(kernel)) {
    throw mneme::Error(
        "the kernel uses textures or surfaces, and was built by a mneme-inject that did not look for their handles");
  }
  if (objects::has_ptx(kernel) && !uses_any) return {};
  std::vector<bundle::Handle> found = handles_among(kernel, arguments);
  if (found.empty() && uses_any && any_handled()) {
    throw mneme::Error(
        "the kernel uses textures or surfaces, and no handle of one is among its arguments: textures whose handles lie "
        "in memory or variables are not recorded; pass the handles as arguments");
  }
  return found;
}

}  // namespace

TexturesOfLaunch ask_for_textures(const bundle::KernelInfo& kernel, const std::string& arguments,
                                  std::vector<std::string>& missing) {
  Asking asking;
  try {
    for (const bundle::Handle& handle : handles_of(kernel, arguments)) {
      if (handle.argument < 0) {
        throw mneme::Error(
            "the kernel uses textures or surfaces whose handles are computed or not among its arguments, and such "
            "textures are not recorded; pass the handles as arguments");
      }
      asking.add(handle, arguments);
    }
  } catch (const mneme::Error& error) {
    missing.push_back(error.what());
    return {};
  }
  return asking.take();
}

bool begin_to_copy(const bundle::TextureArray& array, const std::vector<void*>& levels, uint64_t address) {
  const std::optional<bundle::ArrayLayout> layout = bundle::layout_of(array);
  for (size_t level = 0; level < levels.size(); ++level) {
    const driver::Copy copy = driver::copy_of(levels[level], address, layout.value().levels.at(level), false);
    if (next::cuMemcpy3D_v2(&copy) != kSuccess) return false;
  }
  return true;
}

}  // namespace mneme::record::cuda
