// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What HIP and CUDA, its runtime and its driver, have alike but for its name, declared here so that no vendor toolkit
// is needed to build. Tests of each vendor's declarations compare it with the vendor's headers where there are any.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mneme::vendor {

using Status = int;  // hipError_t, cudaError_t, CUresult
inline constexpr Status kSuccess = 0, kNotReady = 600, kNotSupported = 801;

struct StreamHandle;
using Stream = StreamHandle*;
inline constexpr uintptr_t kPerThreadStream = 2;  // …StreamPerThread
// The stream that functions mean whose names end in _spt or _ptsz: programs call them that are compiled for a default
// stream of each thread's.
inline Stream per_thread(Stream stream) { return stream ? stream : reinterpret_cast<Stream>(kPerThreadStream); }
using Event = void*;
using MemoryPool = void*;
using Module = void*;
using Function = void*;

struct Dimensions {  // dim3
  uint32_t x, y, z;
};

struct PitchedPointer {  // …PitchedPtr
  void* ptr;
  size_t pitch, xsize, ysize;
};

struct Extent {  // …Extent
  size_t width, height, depth;
};

struct Location {  // …MemLocation
  int type;
  int id;
};
inline constexpr int kLocationDevice = 1;

struct Access {  // …MemAccessDesc
  Location location;
  int flags;
};
inline constexpr int kReadWrite = 3;  // 0: none
inline constexpr int kPinned = 1;     // …MemAllocationTypePinned

inline constexpr int kHostToDevice = 1, kDeviceToHost = 2;             // …Memcpy…
inline constexpr unsigned kRegisterPortable = 1, kRegisterMapped = 2;  // …HostRegister…
inline constexpr unsigned kNoTiming = 2;                               // …EventDisableTiming
inline constexpr int kStackSize = 0, kHeapSize = 2;                    // …LimitStackSize, …LimitMallocHeapSize

// Keys of what is passed in place of a launch's arguments (…_LAUNCH_PARAM_…); each vendor has another one for the end.
inline constexpr uintptr_t kParameterBuffer = 1, kParameterSize = 2;

// What __…RegisterFatBinary gets.
struct FatBinaryWrapper {
  uint32_t magic;
  uint32_t version;
  const std::byte* data;
  const std::byte* const* units;  // of CUDA's, version 2: fat binaries that it was linked of, ended by null
};

}  // namespace mneme::vendor
