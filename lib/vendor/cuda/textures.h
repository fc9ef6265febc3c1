// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Textures and surfaces in NVIDIA's driver interface, declared by us: the recorder asks for what they are made of, and
// a replay makes them anew. textures_test.cc compares it with the toolkit's header where there is one.
#pragma once
#include <cstddef>
#include <cstdint>

#include "bundle/textures.h"

namespace mneme::vendor::cuda {

using Address = unsigned long long;  // CUdeviceptr
using Object = unsigned long long;   // CUtexObject, CUsurfObject
using Array = void*;                 // CUarray, CUmipmappedArray

struct ArrayDescription {  // CUDA_ARRAY3D_DESCRIPTOR
  size_t width, height, depth;
  int format;
  unsigned channels, flags;
};

struct LinearMemory {
  Address address;
  int format;
  unsigned channels;
  size_t bytes;
};

struct PitchedMemory {
  Address address;
  int format;
  unsigned channels;
  size_t width, height, pitch;
};

struct Resource {  // CUDA_RESOURCE_DESC
  int type;        // CUresourcetype
  union {
    Array array;
    LinearMemory linear;
    PitchedMemory pitched;
    int reserved[32];
  };
  unsigned flags;
};

struct Sampling {  // CUDA_TEXTURE_DESC
  uint32_t words[14];
  int reserved[12];
};

struct View {  // CUDA_RESOURCE_VIEW_DESC
  int format;
  size_t width, height, depth;
  unsigned first_level, last_level, first_layer, last_layer;
  unsigned reserved[16];
};

inline constexpr int kBorder = 10;  // of a Sampling's words: four, the color beyond the border
inline constexpr int kHostMemory = 1, kDeviceMemory = 2, kArrayMemory = 3;  // CU_MEMORYTYPE_…

struct CopySide {
  size_t x, y, z, level;
  int type;
  const void* host;
  Address device;
  Array array;
  void* context;
  size_t pitch, height;
};
struct Copy {  // CUDA_MEMCPY3D
  CopySide from, to;
  size_t row_bytes, rows, slices;
};

// Of a level of an array and what is in its segment, which begins at `segment`.
inline Copy copy_of(Array array, uint64_t segment, const bundle::ArrayLevel& level, bool to_array) {
  CopySide of_array{}, of_memory{};
  of_array.type = kArrayMemory;
  of_array.array = array;
  of_memory.type = kDeviceMemory;
  of_memory.device = segment + level.offset;
  of_memory.pitch = level.row_bytes;
  of_memory.height = level.rows;
  return {to_array ? of_memory : of_array, to_array ? of_array : of_memory, level.row_bytes, level.rows, level.slices};
}

}  // namespace mneme::vendor::cuda
