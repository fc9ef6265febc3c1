// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of CUDA's driver that change memory without a kernel, as the application finds them first: while
// another thread's launch is recorded they wait.
#include "recorder/cuda/runtime.h"

namespace mneme::record::cuda {
namespace {

constinit Next<Result(Address, const void*, size_t)> next_memcpy_htod_v2(kDriver, "cuMemcpyHtoD_v2");
constinit Next<Result(Address, const void*, size_t)> next_memcpy_htod_v2_ptds(kDriver, "cuMemcpyHtoD_v2_ptds");
constinit Next<Result(Address, const void*, size_t, Stream)> next_memcpy_htod_async_v2(kDriver, "cuMemcpyHtoDAsync_v2");
constinit Next<Result(Address, const void*, size_t, Stream)> next_memcpy_htod_async_v2_ptsz(
    kDriver, "cuMemcpyHtoDAsync_v2_ptsz");
constinit Next<Result(void*, Address, size_t)> next_memcpy_dtoh_v2(kDriver, "cuMemcpyDtoH_v2");
constinit Next<Result(void*, Address, size_t)> next_memcpy_dtoh_v2_ptds(kDriver, "cuMemcpyDtoH_v2_ptds");
constinit Next<Result(void*, Address, size_t, Stream)> next_memcpy_dtoh_async_v2(kDriver, "cuMemcpyDtoHAsync_v2");
constinit Next<Result(void*, Address, size_t, Stream)> next_memcpy_dtoh_async_v2_ptsz(kDriver,
                                                                                      "cuMemcpyDtoHAsync_v2_ptsz");
constinit Next<Result(Address, Address, size_t)> next_memcpy_dtod_v2(kDriver, "cuMemcpyDtoD_v2");
constinit Next<Result(Address, Address, size_t)> next_memcpy_dtod_v2_ptds(kDriver, "cuMemcpyDtoD_v2_ptds");
constinit Next<Result(Address, Address, size_t, Stream)> next_memcpy_dtod_async_v2(kDriver, "cuMemcpyDtoDAsync_v2");
constinit Next<Result(Address, Address, size_t, Stream)> next_memcpy_dtod_async_v2_ptsz(kDriver,
                                                                                        "cuMemcpyDtoDAsync_v2_ptsz");
constinit Next<Result(Address, Address, size_t)> next_memcpy(kDriver, "cuMemcpy");
constinit Next<Result(Address, Address, size_t)> next_memcpy_ptds(kDriver, "cuMemcpy_ptds");
constinit Next<Result(Address, Address, size_t, Stream)> next_memcpy_async(kDriver, "cuMemcpyAsync");
constinit Next<Result(Address, Address, size_t, Stream)> next_memcpy_async_ptsz(kDriver, "cuMemcpyAsync_ptsz");
constinit Next<Result(const void*)> next_memcpy2d_v2(kDriver, "cuMemcpy2D_v2");
constinit Next<Result(const void*)> next_memcpy2d_v2_ptds(kDriver, "cuMemcpy2D_v2_ptds");
constinit Next<Result(const void*, Stream)> next_memcpy2d_async_v2(kDriver, "cuMemcpy2DAsync_v2");
constinit Next<Result(const void*, Stream)> next_memcpy2d_async_v2_ptsz(kDriver, "cuMemcpy2DAsync_v2_ptsz");
constinit Next<Result(const void*)> next_memcpy3d_v2(kDriver, "cuMemcpy3D_v2");
constinit Next<Result(const void*)> next_memcpy3d_v2_ptds(kDriver, "cuMemcpy3D_v2_ptds");
constinit Next<Result(const void*, Stream)> next_memcpy3d_async_v2(kDriver, "cuMemcpy3DAsync_v2");
constinit Next<Result(const void*, Stream)> next_memcpy3d_async_v2_ptsz(kDriver, "cuMemcpy3DAsync_v2_ptsz");
constinit Next<Result(Address, unsigned char, size_t)> next_memsetd8_v2(kDriver, "cuMemsetD8_v2");
constinit Next<Result(Address, unsigned char, size_t)> next_memsetd8_v2_ptds(kDriver, "cuMemsetD8_v2_ptds");
constinit Next<Result(Address, unsigned char, size_t, Stream)> next_memsetd8_async(kDriver, "cuMemsetD8Async");
constinit Next<Result(Address, unsigned char, size_t, Stream)> next_memsetd8_async_ptsz(kDriver,
                                                                                        "cuMemsetD8Async_ptsz");
constinit Next<Result(Address, unsigned short, size_t)> next_memsetd16_v2(kDriver, "cuMemsetD16_v2");
constinit Next<Result(Address, unsigned short, size_t)> next_memsetd16_v2_ptds(kDriver, "cuMemsetD16_v2_ptds");
constinit Next<Result(Address, unsigned short, size_t, Stream)> next_memsetd16_async(kDriver, "cuMemsetD16Async");
constinit Next<Result(Address, unsigned short, size_t, Stream)> next_memsetd16_async_ptsz(kDriver,
                                                                                          "cuMemsetD16Async_ptsz");
constinit Next<Result(Address, unsigned, size_t)> next_memsetd32_v2(kDriver, "cuMemsetD32_v2");
constinit Next<Result(Address, unsigned, size_t)> next_memsetd32_v2_ptds(kDriver, "cuMemsetD32_v2_ptds");
constinit Next<Result(Address, unsigned, size_t, Stream)> next_memsetd32_async(kDriver, "cuMemsetD32Async");
constinit Next<Result(Address, unsigned, size_t, Stream)> next_memsetd32_async_ptsz(kDriver, "cuMemsetD32Async_ptsz");
constinit Next<Result(Address, size_t, unsigned char, size_t, size_t)> next_memsetd2d8_v2(kDriver, "cuMemsetD2D8_v2");
constinit Next<Result(Address, size_t, unsigned char, size_t, size_t)> next_memsetd2d8_v2_ptds(kDriver,
                                                                                               "cuMemsetD2D8_v2_ptds");
constinit Next<Result(Address, size_t, unsigned char, size_t, size_t, Stream)> next_memsetd2d8_async(
    kDriver, "cuMemsetD2D8Async");
constinit Next<Result(Address, size_t, unsigned char, size_t, size_t, Stream)> next_memsetd2d8_async_ptsz(
    kDriver, "cuMemsetD2D8Async_ptsz");
constinit Next<Result(Address, size_t, unsigned short, size_t, size_t)> next_memsetd2d16_v2(kDriver,
                                                                                            "cuMemsetD2D16_v2");
constinit Next<Result(Address, size_t, unsigned short, size_t, size_t)> next_memsetd2d16_v2_ptds(
    kDriver, "cuMemsetD2D16_v2_ptds");
constinit Next<Result(Address, size_t, unsigned short, size_t, size_t, Stream)> next_memsetd2d16_async(
    kDriver, "cuMemsetD2D16Async");
constinit Next<Result(Address, size_t, unsigned short, size_t, size_t, Stream)> next_memsetd2d16_async_ptsz(
    kDriver, "cuMemsetD2D16Async_ptsz");
constinit Next<Result(Address, size_t, unsigned, size_t, size_t)> next_memsetd2d32_v2(kDriver, "cuMemsetD2D32_v2");
constinit Next<Result(Address, size_t, unsigned, size_t, size_t)> next_memsetd2d32_v2_ptds(kDriver,
                                                                                           "cuMemsetD2D32_v2_ptds");
constinit Next<Result(Address, size_t, unsigned, size_t, size_t, Stream)> next_memsetd2d32_async(kDriver,
                                                                                                 "cuMemsetD2D32Async");
constinit Next<Result(Address, size_t, unsigned, size_t, size_t, Stream)> next_memsetd2d32_async_ptsz(
    kDriver, "cuMemsetD2D32Async_ptsz");
constinit Next<Result(const void*)> next_memcpy2d_unaligned_v2(kDriver, "cuMemcpy2DUnaligned_v2");
constinit Next<Result(const void*)> next_memcpy2d_unaligned_v2_ptds(kDriver, "cuMemcpy2DUnaligned_v2_ptds");

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

Result cuMemcpyHtoD_v2(Address to, const void* from, size_t size) {
  return change(next_memcpy_htod_v2, to, from, size);
}

Result cuMemcpyHtoD_v2_ptds(Address to, const void* from, size_t size) {
  return change(next_memcpy_htod_v2_ptds, to, from, size);
}

Result cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t size, Stream stream) {
  return change(next_memcpy_htod_async_v2, to, from, size, stream);
}

Result cuMemcpyHtoDAsync_v2_ptsz(Address to, const void* from, size_t size, Stream stream) {
  return change(next_memcpy_htod_async_v2_ptsz, to, from, size, stream);
}

Result cuMemcpyDtoH_v2(void* to, Address from, size_t size) { return change(next_memcpy_dtoh_v2, to, from, size); }

Result cuMemcpyDtoH_v2_ptds(void* to, Address from, size_t size) {
  return change(next_memcpy_dtoh_v2_ptds, to, from, size);
}

Result cuMemcpyDtoHAsync_v2(void* to, Address from, size_t size, Stream stream) {
  return change(next_memcpy_dtoh_async_v2, to, from, size, stream);
}

Result cuMemcpyDtoHAsync_v2_ptsz(void* to, Address from, size_t size, Stream stream) {
  return change(next_memcpy_dtoh_async_v2_ptsz, to, from, size, stream);
}

Result cuMemcpyDtoD_v2(Address to, Address from, size_t size) { return change(next_memcpy_dtod_v2, to, from, size); }

Result cuMemcpyDtoD_v2_ptds(Address to, Address from, size_t size) {
  return change(next_memcpy_dtod_v2_ptds, to, from, size);
}

Result cuMemcpyDtoDAsync_v2(Address to, Address from, size_t size, Stream stream) {
  return change(next_memcpy_dtod_async_v2, to, from, size, stream);
}

Result cuMemcpyDtoDAsync_v2_ptsz(Address to, Address from, size_t size, Stream stream) {
  return change(next_memcpy_dtod_async_v2_ptsz, to, from, size, stream);
}

Result cuMemcpy(Address to, Address from, size_t size) { return change(next_memcpy, to, from, size); }

Result cuMemcpy_ptds(Address to, Address from, size_t size) { return change(next_memcpy_ptds, to, from, size); }

Result cuMemcpyAsync(Address to, Address from, size_t size, Stream stream) {
  return change(next_memcpy_async, to, from, size, stream);
}

Result cuMemcpyAsync_ptsz(Address to, Address from, size_t size, Stream stream) {
  return change(next_memcpy_async_ptsz, to, from, size, stream);
}

Result cuMemcpy2D_v2(const void* copy) { return change(next_memcpy2d_v2, copy); }

Result cuMemcpy2D_v2_ptds(const void* copy) { return change(next_memcpy2d_v2_ptds, copy); }

Result cuMemcpy2DAsync_v2(const void* copy, Stream stream) { return change(next_memcpy2d_async_v2, copy, stream); }

Result cuMemcpy2DAsync_v2_ptsz(const void* copy, Stream stream) {
  return change(next_memcpy2d_async_v2_ptsz, copy, stream);
}

Result cuMemcpy3D_v2(const void* copy) { return change(next_memcpy3d_v2, copy); }

Result cuMemcpy3D_v2_ptds(const void* copy) { return change(next_memcpy3d_v2_ptds, copy); }

Result cuMemcpy3DAsync_v2(const void* copy, Stream stream) { return change(next_memcpy3d_async_v2, copy, stream); }

Result cuMemcpy3DAsync_v2_ptsz(const void* copy, Stream stream) {
  return change(next_memcpy3d_async_v2_ptsz, copy, stream);
}

Result cuMemsetD8_v2(Address to, unsigned char value, size_t count) {
  return change(next_memsetd8_v2, to, value, count);
}

Result cuMemsetD8_v2_ptds(Address to, unsigned char value, size_t count) {
  return change(next_memsetd8_v2_ptds, to, value, count);
}

Result cuMemsetD8Async(Address to, unsigned char value, size_t count, Stream stream) {
  return change(next_memsetd8_async, to, value, count, stream);
}

Result cuMemsetD8Async_ptsz(Address to, unsigned char value, size_t count, Stream stream) {
  return change(next_memsetd8_async_ptsz, to, value, count, stream);
}

Result cuMemsetD16_v2(Address to, unsigned short value, size_t count) {
  return change(next_memsetd16_v2, to, value, count);
}

Result cuMemsetD16_v2_ptds(Address to, unsigned short value, size_t count) {
  return change(next_memsetd16_v2_ptds, to, value, count);
}

Result cuMemsetD16Async(Address to, unsigned short value, size_t count, Stream stream) {
  return change(next_memsetd16_async, to, value, count, stream);
}

Result cuMemsetD16Async_ptsz(Address to, unsigned short value, size_t count, Stream stream) {
  return change(next_memsetd16_async_ptsz, to, value, count, stream);
}

Result cuMemsetD32_v2(Address to, unsigned value, size_t count) { return change(next_memsetd32_v2, to, value, count); }

Result cuMemsetD32_v2_ptds(Address to, unsigned value, size_t count) {
  return change(next_memsetd32_v2_ptds, to, value, count);
}

Result cuMemsetD32Async(Address to, unsigned value, size_t count, Stream stream) {
  return change(next_memsetd32_async, to, value, count, stream);
}

Result cuMemsetD32Async_ptsz(Address to, unsigned value, size_t count, Stream stream) {
  return change(next_memsetd32_async_ptsz, to, value, count, stream);
}

Result cuMemsetD2D8_v2(Address to, size_t pitch, unsigned char value, size_t width, size_t height) {
  return change(next_memsetd2d8_v2, to, pitch, value, width, height);
}

Result cuMemsetD2D8_v2_ptds(Address to, size_t pitch, unsigned char value, size_t width, size_t height) {
  return change(next_memsetd2d8_v2_ptds, to, pitch, value, width, height);
}

Result cuMemsetD2D8Async(Address to, size_t pitch, unsigned char value, size_t width, size_t height, Stream stream) {
  return change(next_memsetd2d8_async, to, pitch, value, width, height, stream);
}

Result cuMemsetD2D8Async_ptsz(Address to, size_t pitch, unsigned char value, size_t width, size_t height,
                              Stream stream) {
  return change(next_memsetd2d8_async_ptsz, to, pitch, value, width, height, stream);
}

Result cuMemsetD2D16_v2(Address to, size_t pitch, unsigned short value, size_t width, size_t height) {
  return change(next_memsetd2d16_v2, to, pitch, value, width, height);
}

Result cuMemsetD2D16_v2_ptds(Address to, size_t pitch, unsigned short value, size_t width, size_t height) {
  return change(next_memsetd2d16_v2_ptds, to, pitch, value, width, height);
}

Result cuMemsetD2D16Async(Address to, size_t pitch, unsigned short value, size_t width, size_t height, Stream stream) {
  return change(next_memsetd2d16_async, to, pitch, value, width, height, stream);
}

Result cuMemsetD2D16Async_ptsz(Address to, size_t pitch, unsigned short value, size_t width, size_t height,
                               Stream stream) {
  return change(next_memsetd2d16_async_ptsz, to, pitch, value, width, height, stream);
}

Result cuMemsetD2D32_v2(Address to, size_t pitch, unsigned value, size_t width, size_t height) {
  return change(next_memsetd2d32_v2, to, pitch, value, width, height);
}

Result cuMemsetD2D32_v2_ptds(Address to, size_t pitch, unsigned value, size_t width, size_t height) {
  return change(next_memsetd2d32_v2_ptds, to, pitch, value, width, height);
}

Result cuMemsetD2D32Async(Address to, size_t pitch, unsigned value, size_t width, size_t height, Stream stream) {
  return change(next_memsetd2d32_async, to, pitch, value, width, height, stream);
}

Result cuMemsetD2D32Async_ptsz(Address to, size_t pitch, unsigned value, size_t width, size_t height, Stream stream) {
  return change(next_memsetd2d32_async_ptsz, to, pitch, value, width, height, stream);
}

Result cuMemcpy2DUnaligned_v2(const void* copy) { return change(next_memcpy2d_unaligned_v2, copy); }

Result cuMemcpy2DUnaligned_v2_ptds(const void* copy) { return change(next_memcpy2d_unaligned_v2_ptds, copy); }

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::cuda
