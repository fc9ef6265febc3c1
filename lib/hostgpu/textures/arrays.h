// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arrays: images in device memory, which on the host device lie there row by row.
#pragma once
#include "device/host/services/texture_objects.h"
#include "hostgpu/hip.h"

namespace mneme::hostgpu {

using device::host::TexelFormat;

// All throw HipError: hipErrorInvalidValue, or hipErrorNotSupported with a sentence for formats that there are not.
TexelFormat format_of(const hipChannelFormatDesc& channels);
TexelFormat format_of(hipArray_Format format, unsigned channels);
hipChannelFormatDesc channels_of(const TexelFormat& format);
hipArray_Format number_of(const TexelFormat& format);

struct ArrayMemory {
  std::byte* data = nullptr;
  TexelFormat format;
  size_t width = 0, height = 0, depth = 0;  // texels, rows, slices or layers: none is 0
  size_t pitch = 0, slice = 0;              // bytes from row to row, from slice to slice
  unsigned levels = 1;                      // one behind the other; what stands above is of the first
  unsigned flags = 0;                       // hipArrayLayered, …

  bool has_layers() const { return flags & (hipArrayLayered | hipArrayCubemap); }
};
// Throw HipError for what is no array.
ArrayMemory memory_of(hipArray_const_t array);
ArrayMemory memory_of(hipMipmappedArray_const_t array);
// The same as memory with a pitch, for copies.
hipPitchedPtr pitched_memory(hipArray_const_t array);

// A copy between arrays and memory as one between two pieces of memory with a pitch; sizes become bytes.
hipMemcpy3DParms without_arrays(hipMemcpy3DParms copy);
hip_Memcpy2D without_arrays(hip_Memcpy2D copy);
HIP_MEMCPY3D without_arrays(HIP_MEMCPY3D copy);

}  // namespace mneme::hostgpu
