// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hipMemcpy and its kin. All memory is the process's own, so that every direction is memmove.
#include "hostgpu/memory/copy.h"

#include <cstring>

#include "hostgpu/errors.h"
#include "hostgpu/graphs/capture.h"
#include "hostgpu/memory/memory.h"
#include "hostgpu/memory/written_memory.h"
#include "hostgpu/textures/arrays.h"

namespace mneme::hostgpu {
namespace {

// Copies up to this size cost less than handing them to another thread.
constexpr size_t kSmall = 64 * 1024;

void check_kind(hipMemcpyKind kind) {
  require(kind >= hipMemcpyHostToHost && kind <= hipMemcpyDefault, hipErrorInvalidMemcpyDirection);
}

// A box of bytes: `width` of a row, `height` rows of a slice, `depth` slices.
struct Box {
  size_t width, height, depth;
  bool is_empty() const { return !width || !height || !depth; }
};
struct Place {
  std::byte* start;
  size_t pitch;  // bytes from row to row
  size_t slice;  // bytes from slice to slice
};

struct BoxCopy {
  Place to, from;
  Box box;

  explicit BoxCopy(const CopyCall& call) {
    hipMemcpy3DParms p = without_arrays(call.box);
    to = place(p.dstPtr, p.dstPos);
    from = place(p.srcPtr, p.srcPos);
    box = {p.extent.width, p.extent.height, p.extent.depth};
  }

  static Place place(const hipPitchedPtr& at, const hipPos& offset) {
    size_t slice = at.pitch * at.ysize;
    return {static_cast<std::byte*>(at.ptr) + offset.z * slice + offset.y * at.pitch + offset.x, at.pitch, slice};
  }

  void run() const {
    for (size_t z = 0; z < box.depth; ++z) {
      for (size_t y = 0; y < box.height; ++y) {
        std::byte* row = to.start + z * to.slice + y * to.pitch;
        const std::byte* source = from.start + z * from.slice + y * from.pitch;
        std::memmove(row, source, box.width);
        note_copied(row, source, box.width);
      }
    }
  }
};

size_t extent(const Place& place, const Box& box) {
  size_t slices = 0, rows = 0, size = 0;
  bool wraps = __builtin_mul_overflow(box.depth - 1, place.slice, &slices) ||
               __builtin_mul_overflow(box.height - 1, place.pitch, &rows) ||
               __builtin_add_overflow(slices, rows, &size) || __builtin_add_overflow(size, box.width, &size);
  require(!wraps);
  return size;
}

Operation operation_of(const CopyCall& call) {
  Operation operation;
  operation.work = make_work([copy = BoxCopy(call)] { copy.run(); });
  return operation;
}

Operation operation_of(const LinearCopyCall& call) {
  Operation operation;
  operation.work = make_work([call] {
    if (!call.size) return;
    std::memmove(call.to, call.from, call.size);
    note_copied(call.to, call.from, call.size);
  });
  return operation;
}

size_t size_of(const LinearCopyCall& call) { return call.size; }
size_t size_of(const CopyCall& call) { return call.box.extent.width * call.box.extent.height * call.box.extent.depth; }

bool is_out_of_reach(const LinearCopyCall& call) { return is_pageable(call.to) || is_pageable(call.from); }
bool is_out_of_reach(const CopyCall& call) {
  return (call.box.srcPtr.ptr && is_pageable(call.box.srcPtr.ptr)) ||
         (call.box.dstPtr.ptr && is_pageable(call.box.dstPtr.ptr));
}

void run_checked(const std::shared_ptr<Queue>& queue, Operation operation) {
  run_in_order(queue, std::move(operation.work));
  if (device_state() != hipSuccess) throw HipError(device_state());
}

template <typename Any>
void and_wait(const std::shared_ptr<Queue>& queue, const Any& call) {
  check_copy(call);
  check_legacy(queue);
  check_not_captured(queue);
  check_unsafe_call();
  run_checked(queue, operation_of(call));
}

template <typename Any>
void async(const std::shared_ptr<Queue>& queue, const Any& call) {
  check_copy(call);
  if (!is_captured(queue) && is_out_of_reach(call)) {
    check_legacy(queue);
    run_checked(queue, operation_of(call));
  } else {
    put(queue, call);
  }
}

enum class How { kWait, kQueue };

template <typename Any>
hipError_t copy(const Any& call, hipStream_t stream = nullptr, How how = How::kWait, bool per_thread = false) {
  return answer_on_device([&] {
    auto queue = queue_of(stream, per_thread);
    how == How::kWait ? and_wait(queue, call) : async(queue, call);
  });
}

hipError_t copy_peer(const LinearCopyCall& call, int to, int from, hipStream_t stream, How how) {
  hipError_t bad = answer([&] {
    check_device(to);
    check_device(from);
  });
  return bad == hipSuccess ? copy(call, stream, how) : bad;
}

void* writable(const void* pointer) { return const_cast<void*>(pointer); }

LinearCopyCall linear(void* to, const void* from, size_t size, hipMemcpyKind kind) { return {to, from, size, kind}; }

CopyCall rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
              hipMemcpyKind kind) {
  CopyCall call;
  call.box.dstPtr = {to, to_pitch, width, height};
  call.box.srcPtr = {writable(from), from_pitch, width, height};
  call.box.extent = {width, height, 1};
  call.box.kind = kind;
  return call;
}

hipError_t copy_rows(const hip_Memcpy2D* parameters, hipStream_t stream = nullptr, How how = How::kWait) {
  CopyCall call;
  hipError_t bad = answer([&] {
    require(parameters);
    hip_Memcpy2D p = without_arrays(*parameters);
    const void* from = p.srcMemoryType == hipMemoryTypeHost ? p.srcHost : p.srcDevice;
    void* to = p.dstMemoryType == hipMemoryTypeHost ? p.dstHost : p.dstDevice;
    call = rows(to, p.dstPitch, from, p.srcPitch, p.WidthInBytes, p.Height, hipMemcpyDefault);
    call.box.dstPos = {p.dstXInBytes, p.dstY, 0};
    call.box.srcPos = {p.srcXInBytes, p.srcY, 0};
  });
  return bad == hipSuccess ? copy(call, stream, how) : bad;
}

hipError_t copy_box(const HIP_MEMCPY3D* parameters, hipStream_t stream = nullptr, How how = How::kWait) {
  CopyCall call;
  hipError_t bad = answer([&] {
    require(parameters);
    HIP_MEMCPY3D p = without_arrays(*parameters);
    const void* from = p.srcMemoryType == hipMemoryTypeHost ? p.srcHost : p.srcDevice;
    void* to = p.dstMemoryType == hipMemoryTypeHost ? p.dstHost : p.dstDevice;
    call.box.dstPtr = {to, p.dstPitch, p.dstPitch, p.dstHeight};
    call.box.srcPtr = {writable(from), p.srcPitch, p.srcPitch, p.srcHeight};
    call.box.dstPos = {p.dstXInBytes, p.dstY, p.dstZ};
    call.box.srcPos = {p.srcXInBytes, p.srcY, p.srcZ};
    call.box.extent = {p.WidthInBytes, p.Height, p.Depth};
    call.box.kind = hipMemcpyDefault;
  });
  return bad == hipSuccess ? copy(call, stream, how) : bad;
}

hipError_t copy_box(const hipMemcpy3DParms* p, hipStream_t stream = nullptr, How how = How::kWait,
                    bool per_thread = false) {
  return p ? copy(CopyCall{*p}, stream, how, per_thread) : note_error(hipErrorInvalidValue);
}

}  // namespace

void check_copy(const LinearCopyCall& call) {
  check_kind(call.kind);
  if (call.size == 0) return;
  check_range(call.to, call.size);
  check_range(call.from, call.size);
}

void check_copy(const CopyCall& call) {
  check_kind(call.box.kind);
  BoxCopy copy(call);
  require(call.box.srcArray || call.box.srcPtr.ptr);
  require(call.box.dstArray || call.box.dstPtr.ptr);
  const Box& box = copy.box;
  if (box.is_empty()) return;
  require((box.height == 1 && box.depth == 1) || (box.width <= copy.to.pitch && box.width <= copy.from.pitch),
          hipErrorInvalidPitchValue);
  check_range(copy.to.start, extent(copy.to, box));
  check_range(copy.from.start, extent(copy.from, box));
}

void queue_copy(const std::shared_ptr<Queue>& queue, const LinearCopyCall& call) {
  submit(queue, operation_of(call), size_of(call) <= kSmall ? Promptness::kLight : Promptness::kLater);
}
void queue_copy(const std::shared_ptr<Queue>& queue, const CopyCall& call) {
  submit(queue, operation_of(call), size_of(call) <= kSmall ? Promptness::kLight : Promptness::kLater);
}

void copy_and_wait(const std::shared_ptr<Queue>& queue, const LinearCopyCall& call) { and_wait(queue, call); }
void copy_and_wait(const std::shared_ptr<Queue>& queue, const CopyCall& call) { and_wait(queue, call); }
void copy_async(const std::shared_ptr<Queue>& queue, const LinearCopyCall& call) { async(queue, call); }
void copy_async(const std::shared_ptr<Queue>& queue, const CopyCall& call) { async(queue, call); }

}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

hipError_t hipMemcpy(void* to, const void* from, size_t size, hipMemcpyKind kind) {
  return copy(linear(to, from, size, kind));
}
hipError_t hipMemcpy_spt(void* to, const void* from, size_t size, hipMemcpyKind kind) {
  return copy(linear(to, from, size, kind), nullptr, How::kWait, true);
}
hipError_t hipMemcpyAsync(void* to, const void* from, size_t size, hipMemcpyKind kind, hipStream_t stream) {
  return copy(linear(to, from, size, kind), stream, How::kQueue);
}
hipError_t hipMemcpyAsync_spt(void* to, const void* from, size_t size, hipMemcpyKind kind, hipStream_t stream) {
  return copy(linear(to, from, size, kind), stream, How::kQueue, true);
}
hipError_t hipMemcpyWithStream(void* to, const void* from, size_t size, hipMemcpyKind kind, hipStream_t stream) {
  return copy(linear(to, from, size, kind), stream);
}

hipError_t hipMemcpyHtoD(hipDeviceptr_t to, void* from, size_t size) {
  return copy(linear(to, from, size, hipMemcpyHostToDevice));
}
hipError_t hipMemcpyDtoH(void* to, hipDeviceptr_t from, size_t size) {
  return copy(linear(to, from, size, hipMemcpyDeviceToHost));
}
hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, size_t size) {
  return copy(linear(to, from, size, hipMemcpyDeviceToDevice));
}
hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, void* from, size_t size, hipStream_t stream) {
  return copy(linear(to, from, size, hipMemcpyHostToDevice), stream, How::kQueue);
}
hipError_t hipMemcpyDtoHAsync(void* to, hipDeviceptr_t from, size_t size, hipStream_t stream) {
  return copy(linear(to, from, size, hipMemcpyDeviceToHost), stream, How::kQueue);
}
hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, size_t size, hipStream_t stream) {
  return copy(linear(to, from, size, hipMemcpyDeviceToDevice), stream, How::kQueue);
}

hipError_t hipMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t size) {
  return copy_peer(linear(to, from, size, hipMemcpyDeviceToDevice), to_device, from_device, nullptr, How::kWait);
}
hipError_t hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t size,
                              hipStream_t stream) {
  return copy_peer(linear(to, from, size, hipMemcpyDeviceToDevice), to_device, from_device, stream, How::kQueue);
}

hipError_t hipMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                       hipMemcpyKind kind) {
  return copy(rows(to, to_pitch, from, from_pitch, width, height, kind));
}
hipError_t hipMemcpy2D_spt(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                           hipMemcpyKind kind) {
  return copy(rows(to, to_pitch, from, from_pitch, width, height, kind), nullptr, How::kWait, true);
}
hipError_t hipMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                            hipMemcpyKind kind, hipStream_t stream) {
  return copy(rows(to, to_pitch, from, from_pitch, width, height, kind), stream, How::kQueue);
}
hipError_t hipMemcpyParam2D(const hip_Memcpy2D* p) { return copy_rows(p); }
hipError_t hipMemcpyParam2DAsync(const hip_Memcpy2D* p, hipStream_t stream) {
  return copy_rows(p, stream, How::kQueue);
}
hipError_t hipDrvMemcpy2DUnaligned(const hip_Memcpy2D* p) { return copy_rows(p); }

hipError_t hipMemcpy3D(const hipMemcpy3DParms* p) { return copy_box(p); }
hipError_t hipMemcpy3D_spt(const hipMemcpy3DParms* p) { return copy_box(p, nullptr, How::kWait, true); }
hipError_t hipMemcpy3DAsync(const hipMemcpy3DParms* p, hipStream_t stream) { return copy_box(p, stream, How::kQueue); }
hipError_t hipDrvMemcpy3D(const HIP_MEMCPY3D* p) { return copy_box(p); }
hipError_t hipDrvMemcpy3DAsync(const HIP_MEMCPY3D* p, hipStream_t stream) { return copy_box(p, stream, How::kQueue); }

}  // extern "C"
