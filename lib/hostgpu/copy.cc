// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hipMemcpy and its kin. All memory is the process's own, so that every direction is memmove.
#include "hostgpu/copy.h"

#include <cstring>

#include "hostgpu/errors.h"
#include "hostgpu/memory.h"
#include "hostgpu/streams.h"

namespace mneme::hostgpu {
namespace {

void check_kind(hipMemcpyKind kind) {
  require(kind >= hipMemcpyHostToHost && kind <= hipMemcpyDefault, hipErrorInvalidMemcpyDirection);
}

// A box of bytes: `width` of a row, `height` rows of a slice, `depth` slices.
struct Box {
  size_t width, height, depth;
};
struct Place {
  std::byte* start;
  size_t pitch;  // bytes from row to row
  size_t slice;  // bytes from slice to slice
};

size_t extent(const Place& place, const Box& box) {
  size_t slices = 0, rows = 0, size = 0;
  bool wraps = __builtin_mul_overflow(box.depth - 1, place.slice, &slices) ||
               __builtin_mul_overflow(box.height - 1, place.pitch, &rows) ||
               __builtin_add_overflow(slices, rows, &size) || __builtin_add_overflow(size, box.width, &size);
  require(!wraps);
  return size;
}

void copy_box(const Place& to, const Place& from, const Box& box) {
  if (!box.width || !box.height || !box.depth) return;
  require((box.height == 1 && box.depth == 1) || (box.width <= to.pitch && box.width <= from.pitch),
          hipErrorInvalidPitchValue);
  check_range(to.start, extent(to, box));
  check_range(from.start, extent(from, box));
  for (size_t z = 0; z < box.depth; ++z) {
    for (size_t y = 0; y < box.height; ++y) {
      std::memmove(to.start + z * to.slice + y * to.pitch, from.start + z * from.slice + y * from.pitch, box.width);
    }
  }
}

std::byte* bytes(const void* pointer) { return static_cast<std::byte*>(const_cast<void*>(pointer)); }

hipError_t copy_1d(void* to, const void* from, size_t size, hipMemcpyKind kind, hipStream_t stream = nullptr) {
  if (hipError_t bad = check_stream(stream); bad != hipSuccess) return bad;
  return answer_on_device([&] { copy(to, from, size, kind); });
}

hipError_t copy_2d(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                   hipMemcpyKind kind, hipStream_t stream = nullptr) {
  if (hipError_t bad = check_stream(stream); bad != hipSuccess) return bad;
  return answer_on_device([&] {
    check_kind(kind);
    copy_box({bytes(to), to_pitch, 0}, {bytes(from), from_pitch, 0}, {width, height, 1});
  });
}

void refuse_arrays(bool arrays) {
  if (!arrays) return;
  say_once("copies to and from arrays are not available on the host device");
  throw HipError(hipErrorNotSupported);
}

hipError_t copy_3d(const hipMemcpy3DParms* p, hipStream_t stream = nullptr) {
  if (hipError_t bad = check_stream(stream); bad != hipSuccess) return bad;
  return answer_on_device([&] {
    require(p);
    refuse_arrays(p->srcArray || p->dstArray);
    check_kind(p->kind);
    require(p->srcPtr.ptr && p->dstPtr.ptr);
    auto place = [](const hipPitchedPtr& at, const hipPos& offset) {
      size_t slice = at.pitch * at.ysize;
      return Place{bytes(at.ptr) + offset.z * slice + offset.y * at.pitch + offset.x, at.pitch, slice};
    };
    copy_box(place(p->dstPtr, p->dstPos), place(p->srcPtr, p->srcPos),
             {p->extent.width, p->extent.height, p->extent.depth});
  });
}

hipError_t copy_parameters_2d(const hip_Memcpy2D* p, hipStream_t stream = nullptr) {
  if (hipError_t bad = check_stream(stream); bad != hipSuccess) return bad;
  return answer_on_device([&] {
    require(p);
    refuse_arrays(p->srcMemoryType == hipMemoryTypeArray || p->dstMemoryType == hipMemoryTypeArray);
    const void* from = p->srcMemoryType == hipMemoryTypeHost ? p->srcHost : p->srcDevice;
    void* to = p->dstMemoryType == hipMemoryTypeHost ? p->dstHost : p->dstDevice;
    require(from && to);
    copy_box({bytes(to) + p->dstY * p->dstPitch + p->dstXInBytes, p->dstPitch, 0},
             {bytes(from) + p->srcY * p->srcPitch + p->srcXInBytes, p->srcPitch, 0}, {p->WidthInBytes, p->Height, 1});
  });
}

hipError_t copy_parameters_3d(const HIP_MEMCPY3D* p, hipStream_t stream = nullptr) {
  if (hipError_t bad = check_stream(stream); bad != hipSuccess) return bad;
  return answer_on_device([&] {
    require(p);
    refuse_arrays(p->srcMemoryType == hipMemoryTypeArray || p->dstMemoryType == hipMemoryTypeArray);
    const void* from = p->srcMemoryType == hipMemoryTypeHost ? p->srcHost : p->srcDevice;
    void* to = p->dstMemoryType == hipMemoryTypeHost ? p->dstHost : p->dstDevice;
    require(from && to);
    auto place = [](const void* at, size_t pitch, size_t height, size_t x, size_t y, size_t z) {
      size_t slice = pitch * height;
      return Place{bytes(at) + z * slice + y * pitch + x, pitch, slice};
    };
    copy_box(place(to, p->dstPitch, p->dstHeight, p->dstXInBytes, p->dstY, p->dstZ),
             place(from, p->srcPitch, p->srcHeight, p->srcXInBytes, p->srcY, p->srcZ),
             {p->WidthInBytes, p->Height, p->Depth});
  });
}

hipError_t copy_peer(void* to, int to_device, const void* from, int from_device, size_t size, hipStream_t stream) {
  if (to_device != 0 || from_device != 0) return note_error(hipErrorInvalidDevice);
  return copy_1d(to, from, size, hipMemcpyDeviceToDevice, stream);
}

}  // namespace

void copy(void* to, const void* from, size_t size, hipMemcpyKind kind) {
  check_kind(kind);
  if (size == 0) return;
  check_range(to, size);
  check_range(from, size);
  std::memmove(to, from, size);
}

}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

hipError_t hipMemcpy(void* to, const void* from, size_t size, hipMemcpyKind kind) {
  return copy_1d(to, from, size, kind);
}
hipError_t hipMemcpy_spt(void* to, const void* from, size_t size, hipMemcpyKind kind) {
  return copy_1d(to, from, size, kind);
}
hipError_t hipMemcpyAsync(void* to, const void* from, size_t size, hipMemcpyKind kind, hipStream_t stream) {
  return copy_1d(to, from, size, kind, stream);
}
hipError_t hipMemcpyAsync_spt(void* to, const void* from, size_t size, hipMemcpyKind kind, hipStream_t stream) {
  return copy_1d(to, from, size, kind, stream);
}
hipError_t hipMemcpyWithStream(void* to, const void* from, size_t size, hipMemcpyKind kind, hipStream_t stream) {
  return copy_1d(to, from, size, kind, stream);
}

hipError_t hipMemcpyHtoD(hipDeviceptr_t to, void* from, size_t size) {
  return copy_1d(to, from, size, hipMemcpyHostToDevice);
}
hipError_t hipMemcpyDtoH(void* to, hipDeviceptr_t from, size_t size) {
  return copy_1d(to, from, size, hipMemcpyDeviceToHost);
}
hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, size_t size) {
  return copy_1d(to, from, size, hipMemcpyDeviceToDevice);
}
hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, void* from, size_t size, hipStream_t stream) {
  return copy_1d(to, from, size, hipMemcpyHostToDevice, stream);
}
hipError_t hipMemcpyDtoHAsync(void* to, hipDeviceptr_t from, size_t size, hipStream_t stream) {
  return copy_1d(to, from, size, hipMemcpyDeviceToHost, stream);
}
hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, size_t size, hipStream_t stream) {
  return copy_1d(to, from, size, hipMemcpyDeviceToDevice, stream);
}

hipError_t hipMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t size) {
  return copy_peer(to, to_device, from, from_device, size, nullptr);
}
hipError_t hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t size,
                              hipStream_t stream) {
  return copy_peer(to, to_device, from, from_device, size, stream);
}

hipError_t hipMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                       hipMemcpyKind kind) {
  return copy_2d(to, to_pitch, from, from_pitch, width, height, kind);
}
hipError_t hipMemcpy2D_spt(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                           hipMemcpyKind kind) {
  return copy_2d(to, to_pitch, from, from_pitch, width, height, kind);
}
hipError_t hipMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                            hipMemcpyKind kind, hipStream_t stream) {
  return copy_2d(to, to_pitch, from, from_pitch, width, height, kind, stream);
}
hipError_t hipMemcpyParam2D(const hip_Memcpy2D* p) { return copy_parameters_2d(p); }
hipError_t hipMemcpyParam2DAsync(const hip_Memcpy2D* p, hipStream_t stream) { return copy_parameters_2d(p, stream); }
hipError_t hipDrvMemcpy2DUnaligned(const hip_Memcpy2D* p) { return copy_parameters_2d(p); }

hipError_t hipMemcpy3D(const hipMemcpy3DParms* p) { return copy_3d(p); }
hipError_t hipMemcpy3D_spt(const hipMemcpy3DParms* p) { return copy_3d(p); }
hipError_t hipMemcpy3DAsync(const hipMemcpy3DParms* p, hipStream_t stream) { return copy_3d(p, stream); }
hipError_t hipDrvMemcpy3D(const HIP_MEMCPY3D* p) { return copy_parameters_3d(p); }
hipError_t hipDrvMemcpy3DAsync(const HIP_MEMCPY3D* p, hipStream_t stream) { return copy_parameters_3d(p, stream); }

}  // extern "C"
