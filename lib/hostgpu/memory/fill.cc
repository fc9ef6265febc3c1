// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hipMemset and its kin.
#include <algorithm>
#include <cstring>

#include "hostgpu/errors.h"
#include "hostgpu/graphs/calls.h"
#include "hostgpu/graphs/capture.h"
#include "hostgpu/memory/memory.h"
#include "hostgpu/memory/written_memory.h"

namespace mneme::hostgpu {
namespace {

// Fills up to this size cost less than handing them to another thread.
constexpr size_t kSmall = 64 * 1024;

bool is_empty(const FillCall& call) { return !call.rows.width || !call.rows.height || !call.depth; }

// Bytes; throws HipError when they do not fit a number.
size_t row_size(const FillCall& call) {
  size_t size = 0;
  require(!__builtin_mul_overflow(call.rows.width, size_t{call.rows.elementSize}, &size));
  return size;
}

void fill_row(std::byte* to, const hipMemsetParams& rows) {
  note_written(to, rows.width * rows.elementSize);
  switch (rows.elementSize) {
    case 1:
      std::memset(to, static_cast<int>(rows.value & 0xff), rows.width);
      break;
    case 2:
      std::fill_n(reinterpret_cast<uint16_t*>(to), rows.width, static_cast<uint16_t>(rows.value));
      break;
    default:
      std::fill_n(reinterpret_cast<uint32_t*>(to), rows.width, rows.value);
  }
}

Operation operation_of(const FillCall& call) {
  Operation operation;
  operation.work = make_work([call] {
    if (is_empty(call)) return;
    for (size_t z = 0; z < call.depth; ++z) {
      for (size_t y = 0; y < call.rows.height; ++y) {
        fill_row(static_cast<std::byte*>(call.rows.dst) + z * call.slice + y * call.rows.pitch, call.rows);
      }
    }
  });
  return operation;
}

enum class How { kWait, kQueue };

hipError_t fill(const FillCall& call, hipStream_t stream = nullptr, How how = How::kWait, bool per_thread = false) {
  return answer_on_device([&] {
    auto queue = queue_of(stream, per_thread);
    check_fill(call);
    if (how == How::kQueue) return put(queue, call);
    check_legacy(queue);
    check_not_captured(queue);
    check_unsafe_call();
    run_in_order(queue, operation_of(call).work);
    if (device_state() != hipSuccess) throw HipError(device_state());
  });
}

FillCall rows(void* to, size_t pitch, unsigned value, unsigned element, size_t width, size_t height) {
  FillCall call;
  call.rows.dst = to;
  call.rows.pitch = pitch;
  call.rows.value = value;
  call.rows.elementSize = element;
  call.rows.width = width;
  call.rows.height = height;
  return call;
}

template <typename T>
FillCall elements(void* to, T value, size_t count) {
  return rows(to, 0, static_cast<unsigned>(value), sizeof(T), count, 1);
}

FillCall bytes(void* to, int value, size_t size) { return elements(to, static_cast<unsigned char>(value), size); }

FillCall bytes(void* to, size_t pitch, int value, size_t width, size_t height) {
  return rows(to, pitch, static_cast<unsigned char>(value), 1, width, height);
}

FillCall bytes(const hipPitchedPtr& to, int value, hipExtent extent) {
  FillCall call = bytes(to.ptr, to.pitch, value, extent.width, extent.height);
  call.depth = extent.depth;
  call.slice = to.pitch * to.ysize;
  return call;
}

}  // namespace

void check_fill(const FillCall& call) {
  require(call.rows.elementSize == 1 || call.rows.elementSize == 2 || call.rows.elementSize == 4);
  size_t width = row_size(call);
  if (is_empty(call)) return;
  require(call.rows.dst && ((call.rows.height == 1 && call.depth == 1) || width <= call.rows.pitch));
  size_t slices = 0, rows = 0, size = 0;
  require(!__builtin_mul_overflow(call.depth - 1, call.slice, &slices) &&
          !__builtin_mul_overflow(call.rows.height - 1, call.rows.pitch, &rows) &&
          !__builtin_add_overflow(slices, rows, &size) && !__builtin_add_overflow(size, width, &size));
  check_range(call.rows.dst, size);
}

void queue_fill(const std::shared_ptr<Queue>& queue, const FillCall& call) {
  size_t size = row_size(call) * call.rows.height * call.depth;
  submit(queue, operation_of(call), size <= kSmall ? Promptness::kLight : Promptness::kLater);
}

}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

hipError_t hipMemset(void* to, int value, size_t size) { return fill(bytes(to, value, size)); }
hipError_t hipMemset_spt(void* to, int value, size_t size) {
  return fill(bytes(to, value, size), nullptr, How::kWait, true);
}
hipError_t hipMemsetAsync(void* to, int value, size_t size, hipStream_t stream) {
  return fill(bytes(to, value, size), stream, How::kQueue);
}

hipError_t hipMemsetD8(hipDeviceptr_t to, unsigned char value, size_t count) {
  return fill(elements(to, value, count));
}
hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, size_t count, hipStream_t stream) {
  return fill(elements(to, value, count), stream, How::kQueue);
}
hipError_t hipMemsetD16(hipDeviceptr_t to, unsigned short value, size_t count) {
  return fill(elements(to, value, count));
}
hipError_t hipMemsetD16Async(hipDeviceptr_t to, unsigned short value, size_t count, hipStream_t stream) {
  return fill(elements(to, value, count), stream, How::kQueue);
}
hipError_t hipMemsetD32(hipDeviceptr_t to, int value, size_t count) { return fill(elements(to, value, count)); }
hipError_t hipMemsetD32Async(hipDeviceptr_t to, int value, size_t count, hipStream_t stream) {
  return fill(elements(to, value, count), stream, How::kQueue);
}

hipError_t hipMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return fill(bytes(to, pitch, value, width, height));
}
hipError_t hipMemset2D_spt(void* to, size_t pitch, int value, size_t width, size_t height) {
  return fill(bytes(to, pitch, value, width, height), nullptr, How::kWait, true);
}
hipError_t hipMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height, hipStream_t stream) {
  return fill(bytes(to, pitch, value, width, height), stream, How::kQueue);
}

hipError_t hipMemset3D(hipPitchedPtr to, int value, hipExtent extent) { return fill(bytes(to, value, extent)); }
hipError_t hipMemset3D_spt(hipPitchedPtr to, int value, hipExtent extent) {
  return fill(bytes(to, value, extent), nullptr, How::kWait, true);
}
hipError_t hipMemset3DAsync(hipPitchedPtr to, int value, hipExtent extent, hipStream_t stream) {
  return fill(bytes(to, value, extent), stream, How::kQueue);
}

}  // extern "C"
