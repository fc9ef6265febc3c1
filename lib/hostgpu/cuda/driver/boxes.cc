// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/cuda/driver/boxes.h"

#include <algorithm>

namespace mneme::hostgpu::cuda::driver {
namespace {

bool is_on_host(int type) { return type == kHostMemory; }

hipMemcpyKind kind_between(int from, int to) {
  if (is_on_host(from)) return is_on_host(to) ? hipMemcpyHostToHost : hipMemcpyHostToDevice;
  return is_on_host(to) ? hipMemcpyDeviceToHost : hipMemcpyDeviceToDevice;
}

// Where the copy begins on this side; there, slices are `height` rows apart.
hipPitchedPtr place_of(const BoxSide& side, size_t width, size_t height) {
  auto* start =
      is_on_host(side.type) ? static_cast<char*>(const_cast<void*>(side.host)) : reinterpret_cast<char*>(side.device);
  size_t pitch = side.pitch ? side.pitch : width, rows = side.height ? side.height : height;
  return {start + side.x + pitch * (side.y + rows * side.z), pitch, width, rows};
}

BoxSide side_of(const hipPitchedPtr& place, const hipPos& offset, bool host) {
  BoxSide side{};
  side.x = offset.x;
  side.y = offset.y;
  side.z = offset.z;
  side.type = host ? kHostMemory : kDeviceMemory;
  if (host) {
    side.host = place.ptr;
  } else {
    side.device = reinterpret_cast<uint64_t>(place.ptr);
  }
  side.pitch = place.pitch;
  side.height = place.ysize;
  return side;
}

// An array's texels, as memory with a pitch.
hipError_t array_as_memory(BoxSide& side, const BoxCopy& copy) {
  if (side.type != kArrayMemory) return hipSuccess;
  auto* array = static_cast<hipArray*>(side.array);
  hipChannelFormatDesc channels{};
  void* data = nullptr;
  if (hipError_t status = hipGetChannelDesc(&channels, array); status != hipSuccess) return status;
  int found = mneme_hostgpu_array_bytes(array, 0, 0, 0, &data);
  if (found != 0) return static_cast<hipError_t>(found);
  auto some = [](size_t texels) { return std::max<size_t>(texels, 1); };
  size_t bits = static_cast<size_t>(channels.x + channels.y + channels.z + channels.w);
  side.pitch = array->width * bits / 8;
  side.height = some(array->height);
  auto fits = [](size_t from, size_t size, size_t all) { return from <= all && size <= all - from; };
  if (!fits(side.x, copy.row_bytes, side.pitch) || !fits(side.y, copy.rows, side.height) ||
      !fits(side.z, copy.slices, some(array->depth))) {
    return hipErrorInvalidValue;
  }
  side.type = kDeviceMemory;
  side.device = reinterpret_cast<uint64_t>(data);
  return hipSuccess;
}

}  // namespace

Result as_hip(const BoxCopy* copy, hipMemcpy3DParms& box) {
  if (!copy) return kInvalidValue;
  if (copy->from.level || copy->to.level) return kInvalidValue;  // has to be 0
  BoxCopy plain = *copy;
  Result status = answer([&] {
    hipError_t from = array_as_memory(plain.from, plain);
    return from == hipSuccess ? array_as_memory(plain.to, plain) : from;
  });
  if (status) return status;
  box.srcPtr = place_of(plain.from, plain.row_bytes, plain.rows);
  box.dstPtr = place_of(plain.to, plain.row_bytes, plain.rows);
  box.extent = {plain.row_bytes, plain.rows, plain.slices};
  box.kind = kind_between(plain.from.type, plain.to.type);
  return 0;
}

BoxCopy as_driver(const hipMemcpy3DParms& box) {
  bool from_host = box.kind == hipMemcpyHostToDevice || box.kind == hipMemcpyHostToHost;
  bool to_host = box.kind == hipMemcpyDeviceToHost || box.kind == hipMemcpyHostToHost;
  return {side_of(box.srcPtr, box.srcPos, from_host), side_of(box.dstPtr, box.dstPos, to_host), box.extent.width,
          box.extent.height, box.extent.depth};
}

}  // namespace mneme::hostgpu::cuda::driver
