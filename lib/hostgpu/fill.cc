// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hipMemset and its kin.
#include <algorithm>
#include <cstring>

#include "hostgpu/errors.h"
#include "hostgpu/memory.h"
#include "hostgpu/streams.h"

namespace mneme::hostgpu {
namespace {

// `count` elements.
template <typename T>
hipError_t fill(void* to, T value, size_t count, hipStream_t stream = nullptr) {
  if (hipError_t bad = check_stream(stream); bad != hipSuccess) return bad;
  return answer_on_device([&] {
    if (count == 0) return;
    size_t size = 0;
    require(!__builtin_mul_overflow(count, sizeof(T), &size));
    check_range(to, size);
    std::fill_n(static_cast<T*>(to), count, value);
  });
}

hipError_t fill_bytes(void* to, int value, size_t size, hipStream_t stream = nullptr) {
  return fill(to, static_cast<unsigned char>(value), size, stream);
}

hipError_t fill_box(void* to, size_t pitch, size_t slice, int value, hipExtent box, hipStream_t stream = nullptr) {
  if (hipError_t bad = check_stream(stream); bad != hipSuccess) return bad;
  return answer_on_device([&] {
    if (!box.width || !box.height || !box.depth) return;
    require(to && ((box.height == 1 && box.depth == 1) || box.width <= pitch));
    size_t slices = 0, rows = 0, size = 0;
    require(!__builtin_mul_overflow(box.depth - 1, slice, &slices) &&
            !__builtin_mul_overflow(box.height - 1, pitch, &rows) && !__builtin_add_overflow(slices, rows, &size) &&
            !__builtin_add_overflow(size, box.width, &size));
    check_range(to, size);
    for (size_t z = 0; z < box.depth; ++z) {
      for (size_t y = 0; y < box.height; ++y) {
        std::memset(static_cast<std::byte*>(to) + z * slice + y * pitch, value, box.width);
      }
    }
  });
}

}  // namespace
}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

hipError_t hipMemset(void* to, int value, size_t size) { return fill_bytes(to, value, size); }
hipError_t hipMemset_spt(void* to, int value, size_t size) { return fill_bytes(to, value, size); }
hipError_t hipMemsetAsync(void* to, int value, size_t size, hipStream_t stream) {
  return fill_bytes(to, value, size, stream);
}

hipError_t hipMemsetD8(hipDeviceptr_t to, unsigned char value, size_t count) { return fill(to, value, count); }
hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, size_t count, hipStream_t stream) {
  return fill(to, value, count, stream);
}
hipError_t hipMemsetD16(hipDeviceptr_t to, unsigned short value, size_t count) { return fill(to, value, count); }
hipError_t hipMemsetD16Async(hipDeviceptr_t to, unsigned short value, size_t count, hipStream_t stream) {
  return fill(to, value, count, stream);
}
hipError_t hipMemsetD32(hipDeviceptr_t to, int value, size_t count) { return fill(to, value, count); }
hipError_t hipMemsetD32Async(hipDeviceptr_t to, int value, size_t count, hipStream_t stream) {
  return fill(to, value, count, stream);
}

hipError_t hipMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return fill_box(to, pitch, 0, value, {width, height, 1});
}
hipError_t hipMemset2D_spt(void* to, size_t pitch, int value, size_t width, size_t height) {
  return fill_box(to, pitch, 0, value, {width, height, 1});
}
hipError_t hipMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height, hipStream_t stream) {
  return fill_box(to, pitch, 0, value, {width, height, 1}, stream);
}

hipError_t hipMemset3D(hipPitchedPtr to, int value, hipExtent extent) {
  return fill_box(to.ptr, to.pitch, to.pitch * to.ysize, value, extent);
}
hipError_t hipMemset3D_spt(hipPitchedPtr to, int value, hipExtent extent) {
  return fill_box(to.ptr, to.pitch, to.pitch * to.ysize, value, extent);
}
hipError_t hipMemset3DAsync(hipPitchedPtr to, int value, hipExtent extent, hipStream_t stream) {
  return fill_box(to.ptr, to.pitch, to.pitch * to.ysize, value, extent, stream);
}

}  // extern "C"
