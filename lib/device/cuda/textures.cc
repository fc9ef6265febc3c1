// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/textures.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace mneme::device::cuda {

using bundle::TextureSource;

Textures::Textures(const Launch& launch, const gpu::RecordedMemory& memory)
    : arrays_(launch.arrays), objects_(launch.textures) {
  try {
    make(memory);
  } catch (...) {
    destroy();
    throw;
  }
}

Textures::~Textures() { destroy(); }

void Textures::make(const gpu::RecordedMemory& memory) {
  for (const bundle::TextureArray& array : arrays_) {
    make_array(array);
    memory.check_mapped(array.address, made_.back().layout.bytes);
  }
  for (const bundle::TextureObject& object : objects_) make_object(object, memory);
}

void Textures::destroy() {
  for (size_t i = 0; i < handles_.size(); ++i) {
    objects_[i].surface ? driver().cuSurfObjectDestroy(handles_[i]) : driver().cuTexObjectDestroy(handles_[i]);
  }
  for (size_t i = 0; i < made_.size(); ++i) {
    if (!made_[i].array) continue;
    arrays_[i].levels ? driver().cuMipmappedArrayDestroy(made_[i].array) : driver().cuArrayDestroy(made_[i].array);
  }
}

void Textures::make_array(const bundle::TextureArray& array) {
  Made& made = made_.emplace_back();
  std::optional<bundle::ArrayLayout> layout = bundle::layout_of(array);
  if (!layout) throw Error("an array of the recording is of an unknown kind");
  made.layout = std::move(*layout);
  const vendor::cuda::ArrayDescription wanted{array.width,    array.height, array.depth, static_cast<int>(array.format),
                                              array.channels, array.flags};
  if (array.levels == 0) {
    check(driver().cuArray3DCreate_v2(&made.array, &wanted), "making a texture's array");
    made.levels = {made.array};
    return;
  }
  check(driver().cuMipmappedArrayCreate(&made.array, &wanted, array.levels), "making a texture's array with levels");
  made.levels.resize(array.levels);
  for (unsigned level = 0; level < array.levels; ++level) {
    check(driver().cuMipmappedArrayGetLevel(&made.levels[level], made.array, level), "making a texture's array");
  }
}

Textures::Made& Textures::made_of(uint64_t segment) {
  auto found = std::ranges::find(arrays_, segment, &bundle::TextureArray::address);
  if (found == arrays_.end()) throw Error::of("a texture stands for an array at {:#x}, which is not there", segment);
  return made_[static_cast<size_t>(found - arrays_.begin())];
}

void Textures::make_object(const bundle::TextureObject& object, const gpu::RecordedMemory& memory) {
  vendor::cuda::Resource resource{};
  resource.type = static_cast<int>(object.source);
  if (bundle::is_of_array(object)) {
    Made& made = made_of(object.address);
    made.written |= object.surface;
    resource.array = made.array;
  } else {
    memory.check_mapped(object.address, bundle::bytes_in_memory(object).value_or(UINT64_MAX));
    if (object.source == TextureSource::kLinear) {
      resource.linear = {object.address, static_cast<int>(object.format), object.channels, object.width};
    } else {
      resource.pitched = {object.address, static_cast<int>(object.format), object.channels, object.width, object.height,
                          object.pitch};
    }
  }
  vendor::cuda::Object handle = 0;
  if (object.surface) {
    check(driver().cuSurfObjectCreate(&handle, &resource), "making a surface");
  } else {
    vendor::cuda::Sampling sampling{};
    std::ranges::copy(object.sampling, sampling.words);
    vendor::cuda::View view{};
    if (object.view) {
      const auto& [format, width, height, depth, first_level, last_level, first_layer, last_layer] = *object.view;
      view = {static_cast<int>(format),
              width,
              height,
              depth,
              static_cast<unsigned>(first_level),
              static_cast<unsigned>(last_level),
              static_cast<unsigned>(first_layer),
              static_cast<unsigned>(last_layer),
              {}};
    }
    check(driver().cuTexObjectCreate(&handle, &resource, &sampling, object.view ? &view : nullptr), "making a texture");
  }
  handles_.push_back(handle);
}

void Textures::copy(size_t array, bool to_array) const {
  const Made& made = made_[array];
  for (size_t level = 0; level < made.levels.size(); ++level) {
    const vendor::cuda::Copy copied =
        vendor::cuda::copy_of(made.levels[level], arrays_[array].address, made.layout.levels[level], to_array);
    check(driver().cuMemcpy3D_v2(&copied), to_array ? "filling a texture's array" : "reading a surface's array");
  }
}

void Textures::fill() const {
  for (size_t i = 0; i < made_.size(); ++i) copy(i, true);
}

void Textures::read_back() const {
  for (size_t i = 0; i < made_.size(); ++i) {
    if (made_[i].written) copy(i, false);
  }
}

void Textures::put_handles(std::string& arguments) const {
  for (size_t i = 0; i < handles_.size(); ++i) {
    if (objects_[i].argument > arguments.size() || arguments.size() - objects_[i].argument < sizeof handles_[i]) {
      throw Error("a texture's handle lies behind the recorded arguments");
    }
    std::memcpy(arguments.data() + objects_[i].argument, &handles_[i], sizeof handles_[i]);
  }
}

}  // namespace mneme::device::cuda
