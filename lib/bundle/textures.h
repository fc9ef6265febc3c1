// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <optional>
#include <vector>

#include "bundle/format.h"

namespace mneme::bundle {

// Or of memory.
inline bool is_of_array(const TextureObject& object) {
  return object.source == TextureSource::kArray || object.source == TextureSource::kMipmappedArray;
}

// How an array's contents lie in its segment: one level behind the other, and in each its slices, rows and texels, with
// nothing between them.
struct ArrayLevel {
  uint64_t offset = 0;     // bytes from the segment's beginning
  uint64_t row_bytes = 0;  // of its texels
  uint64_t rows = 1;       // of a slice
  uint64_t slices = 1;     // or layers
};
struct ArrayLayout {
  std::vector<ArrayLevel> levels;
  uint64_t bytes = 0;
};
// nullopt: it is of a kind that is not recorded (sparse, compressed, of several planes), or larger than any can be.
std::optional<ArrayLayout> layout_of(const TextureArray& array);

// Bytes from a texture's first texel in memory to behind its last one; nullopt: of such a kind or size, or of an array.
std::optional<uint64_t> bytes_in_memory(const TextureObject& object);

// The keys `arrays` and `textures` of instances, as an object's text by themselves. Reading takes an instance whose
// arguments and segments are there, and throws Error, naming `where`, for what does not fit them.
std::string write_textures(const InstanceInfo& instance);
void read_textures(std::string_view text, const std::string& where, InstanceInfo& instance);

}  // namespace mneme::bundle
