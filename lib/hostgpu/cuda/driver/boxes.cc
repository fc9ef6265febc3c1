// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/cuda/driver/boxes.h"

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

bool is_memory(const BoxSide& side) { return side.type != kArrayMemory && side.level == 0; }

}  // namespace

Result as_hip(const BoxCopy* copy, hipMemcpy3DParms& box) {
  if (!copy) return kInvalidValue;
  if (!is_memory(copy->from) || !is_memory(copy->to)) {
    return answer([] { return mneme_hostgpu_refuse("the driver's copy of an array", "CUDA programs have none here"); });
  }
  box.srcPtr = place_of(copy->from, copy->row_bytes, copy->rows);
  box.dstPtr = place_of(copy->to, copy->row_bytes, copy->rows);
  box.extent = {copy->row_bytes, copy->rows, copy->slices};
  box.kind = kind_between(copy->from.type, copy->to.type);
  return 0;
}

BoxCopy as_driver(const hipMemcpy3DParms& box) {
  bool from_host = box.kind == hipMemcpyHostToDevice || box.kind == hipMemcpyHostToHost;
  bool to_host = box.kind == hipMemcpyDeviceToHost || box.kind == hipMemcpyHostToHost;
  return {side_of(box.srcPtr, box.srcPos, from_host), side_of(box.dstPtr, box.dstPos, to_host), box.extent.width,
          box.extent.height, box.extent.depth};
}

}  // namespace mneme::hostgpu::cuda::driver
