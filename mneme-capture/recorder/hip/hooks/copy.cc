// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The HIP functions that change memory without a kernel, as the application finds them first: while another thread's
// launch is recorded they wait, else what they do would be taken for the kernel's. (The stand-in makes them wait
// itself.)
#include "recorder/hip/runtime.h"

namespace mneme::record::hip {
namespace {

using Symbol = const void*;

constinit Next<Error(void*, const void*, size_t, int)> next_copy(kLibrary, "hipMemcpy");
constinit Next<Error(void*, const void*, size_t, int, Stream)> next_copy_async(kLibrary, "hipMemcpyAsync");
constinit Next<Error(void*, size_t, const void*, size_t, size_t, size_t, int)> next_copy_2d(kLibrary, "hipMemcpy2D");
constinit Next<Error(void*, size_t, const void*, size_t, size_t, size_t, int, Stream)> next_copy_2d_async(
    kLibrary, "hipMemcpy2DAsync");
constinit Next<Error(const void*)> next_copy_3d(kLibrary, "hipMemcpy3D");
constinit Next<Error(const void*, Stream)> next_copy_3d_async(kLibrary, "hipMemcpy3DAsync");
constinit Next<Error(void*, int, const void*, int, size_t)> next_copy_peer(kLibrary, "hipMemcpyPeer");
constinit Next<Error(void*, int, const void*, int, size_t, Stream)> next_copy_peer_async(kLibrary,
                                                                                         "hipMemcpyPeerAsync");
constinit Next<Error(Symbol, const void*, size_t, size_t, int)> next_to_symbol(kLibrary, "hipMemcpyToSymbol");
constinit Next<Error(Symbol, const void*, size_t, size_t, int, Stream)> next_to_symbol_async(kLibrary,
                                                                                             "hipMemcpyToSymbolAsync");
constinit Next<Error(void*, Symbol, size_t, size_t, int)> next_from_symbol(kLibrary, "hipMemcpyFromSymbol");
constinit Next<Error(void*, Symbol, size_t, size_t, int, Stream)> next_from_symbol_async(kLibrary,
                                                                                         "hipMemcpyFromSymbolAsync");
constinit Next<Error(void*, int, size_t)> next_set(kLibrary, "hipMemset");
constinit Next<Error(void*, int, size_t, Stream)> next_set_async(kLibrary, "hipMemsetAsync");
constinit Next<Error(void*, size_t, int, size_t, size_t)> next_set_2d(kLibrary, "hipMemset2D");
constinit Next<Error(void*, size_t, int, size_t, size_t, Stream)> next_set_2d_async(kLibrary, "hipMemset2DAsync");
constinit Next<Error(PitchedPointer, int, Extent)> next_set_3d(kLibrary, "hipMemset3D");
constinit Next<Error(PitchedPointer, int, Extent, Stream)> next_set_3d_async(kLibrary, "hipMemset3DAsync");

using Array = const void*;
constinit Next<Error(void*, Array, size_t, size_t, size_t, int)> next_from_array(kLibrary, "hipMemcpyFromArray");
constinit Next<Error(void*, size_t, Array, size_t, size_t, size_t, size_t, int)> next_2d_from_array(
    kLibrary, "hipMemcpy2DFromArray");
constinit Next<Error(void*, size_t, Array, size_t, size_t, size_t, size_t, int, Stream)> next_2d_from_array_async(
    kLibrary, "hipMemcpy2DFromArrayAsync");
constinit Next<Error(const void*)> next_driver_3d(kLibrary, "hipDrvMemcpy3D");
constinit Next<Error(const void*, Stream)> next_driver_3d_async(kLibrary, "hipDrvMemcpy3DAsync");

constinit Next<Error(void*, const void*, size_t, int, Stream)> next_copy_with_stream(kLibrary, "hipMemcpyWithStream");
constinit Next<Error(void*, void*, size_t)> next_to_device(kLibrary, "hipMemcpyHtoD");
constinit Next<Error(void*, void*, size_t, Stream)> next_to_device_async(kLibrary, "hipMemcpyHtoDAsync");
constinit Next<Error(void*, void*, size_t)> next_to_host(kLibrary, "hipMemcpyDtoH");
constinit Next<Error(void*, void*, size_t, Stream)> next_to_host_async(kLibrary, "hipMemcpyDtoHAsync");
constinit Next<Error(void*, void*, size_t)> next_on_device(kLibrary, "hipMemcpyDtoD");
constinit Next<Error(void*, void*, size_t, Stream)> next_on_device_async(kLibrary, "hipMemcpyDtoDAsync");
constinit Next<Error(const void*)> next_driver_2d(kLibrary, "hipMemcpyParam2D");
constinit Next<Error(const void*, Stream)> next_driver_2d_async(kLibrary, "hipMemcpyParam2DAsync");
constinit Next<Error(void*, unsigned char, size_t)> next_set_8(kLibrary, "hipMemsetD8");
constinit Next<Error(void*, unsigned char, size_t, Stream)> next_set_8_async(kLibrary, "hipMemsetD8Async");
constinit Next<Error(void*, unsigned short, size_t)> next_set_16(kLibrary, "hipMemsetD16");
constinit Next<Error(void*, unsigned short, size_t, Stream)> next_set_16_async(kLibrary, "hipMemsetD16Async");
constinit Next<Error(void*, int, size_t)> next_set_32(kLibrary, "hipMemsetD32");
constinit Next<Error(void*, int, size_t, Stream)> next_set_32_async(kLibrary, "hipMemsetD32Async");

constinit Next<Error(const void*)> next_driver_2d_unaligned(kLibrary, "hipDrvMemcpy2DUnaligned");
constinit Next<Error(Stream, void*, uint32_t, unsigned)> next_write_32(kLibrary, "hipStreamWriteValue32");
constinit Next<Error(Stream, void*, uint64_t, unsigned)> next_write_64(kLibrary, "hipStreamWriteValue64");

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

Error hipMemcpy(void* to, const void* from, size_t size, int kind) { return change(next_copy, to, from, size, kind); }

Error hipMemcpyAsync(void* to, const void* from, size_t size, int kind, Stream stream) {
  return change(next_copy_async, to, from, size, kind, stream);
}

Error hipMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                  int kind) {
  return change(next_copy_2d, to, to_pitch, from, from_pitch, width, height, kind);
}

Error hipMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                       int kind, Stream stream) {
  return change(next_copy_2d_async, to, to_pitch, from, from_pitch, width, height, kind, stream);
}

Error hipMemcpy3D(const void* parameters) { return change(next_copy_3d, parameters); }

Error hipMemcpy3DAsync(const void* parameters, Stream stream) { return change(next_copy_3d_async, parameters, stream); }

Error hipMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t size) {
  return change(next_copy_peer, to, to_device, from, from_device, size);
}

Error hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t size, Stream stream) {
  return change(next_copy_peer_async, to, to_device, from, from_device, size, stream);
}

Error hipMemcpyToSymbol(Symbol to, const void* from, size_t size, size_t offset, int kind) {
  return change(next_to_symbol, to, from, size, offset, kind);
}

Error hipMemcpyToSymbolAsync(Symbol to, const void* from, size_t size, size_t offset, int kind, Stream stream) {
  return change(next_to_symbol_async, to, from, size, offset, kind, stream);
}

Error hipMemcpyFromSymbol(void* to, Symbol from, size_t size, size_t offset, int kind) {
  return change(next_from_symbol, to, from, size, offset, kind);
}

Error hipMemcpyFromSymbolAsync(void* to, Symbol from, size_t size, size_t offset, int kind, Stream stream) {
  return change(next_from_symbol_async, to, from, size, offset, kind, stream);
}

Error hipMemcpyFromArray(void* to, Array from, size_t left, size_t top, size_t size, int kind) {
  return change(next_from_array, to, from, left, top, size, kind);
}

Error hipMemcpy2DFromArray(void* to, size_t pitch, Array from, size_t left, size_t top, size_t width, size_t height,
                           int kind) {
  return change(next_2d_from_array, to, pitch, from, left, top, width, height, kind);
}

Error hipMemcpy2DFromArrayAsync(void* to, size_t pitch, Array from, size_t left, size_t top, size_t width,
                                size_t height, int kind, Stream stream) {
  return change(next_2d_from_array_async, to, pitch, from, left, top, width, height, kind, stream);
}

Error hipDrvMemcpy3D(const void* parameters) { return change(next_driver_3d, parameters); }

Error hipDrvMemcpy3DAsync(const void* parameters, Stream stream) {
  return change(next_driver_3d_async, parameters, stream);
}

Error hipMemset(void* to, int value, size_t size) { return change(next_set, to, value, size); }

Error hipMemsetAsync(void* to, int value, size_t size, Stream stream) {
  return change(next_set_async, to, value, size, stream);
}

Error hipMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return change(next_set_2d, to, pitch, value, width, height);
}

Error hipMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height, Stream stream) {
  return change(next_set_2d_async, to, pitch, value, width, height, stream);
}

Error hipMemset3D(PitchedPointer to, int value, Extent extent) { return change(next_set_3d, to, value, extent); }

Error hipMemset3DAsync(PitchedPointer to, int value, Extent extent, Stream stream) {
  return change(next_set_3d_async, to, value, extent, stream);
}

Error hipMemcpyWithStream(void* to, const void* from, size_t size, int kind, Stream stream) {
  return change(next_copy_with_stream, to, from, size, kind, stream);
}

Error hipMemcpyHtoD(void* to, void* from, size_t size) { return change(next_to_device, to, from, size); }

Error hipMemcpyHtoDAsync(void* to, void* from, size_t size, Stream stream) {
  return change(next_to_device_async, to, from, size, stream);
}

Error hipMemcpyDtoH(void* to, void* from, size_t size) { return change(next_to_host, to, from, size); }

Error hipMemcpyDtoHAsync(void* to, void* from, size_t size, Stream stream) {
  return change(next_to_host_async, to, from, size, stream);
}

Error hipMemcpyDtoD(void* to, void* from, size_t size) { return change(next_on_device, to, from, size); }

Error hipMemcpyDtoDAsync(void* to, void* from, size_t size, Stream stream) {
  return change(next_on_device_async, to, from, size, stream);
}

Error hipMemcpyParam2D(const void* parameters) { return change(next_driver_2d, parameters); }

Error hipMemcpyParam2DAsync(const void* parameters, Stream stream) {
  return change(next_driver_2d_async, parameters, stream);
}

Error hipMemsetD8(void* to, unsigned char value, size_t count) { return change(next_set_8, to, value, count); }

Error hipMemsetD8Async(void* to, unsigned char value, size_t count, Stream stream) {
  return change(next_set_8_async, to, value, count, stream);
}

Error hipMemsetD16(void* to, unsigned short value, size_t count) { return change(next_set_16, to, value, count); }

Error hipMemsetD16Async(void* to, unsigned short value, size_t count, Stream stream) {
  return change(next_set_16_async, to, value, count, stream);
}

Error hipMemsetD32(void* to, int value, size_t count) { return change(next_set_32, to, value, count); }

Error hipMemsetD32Async(void* to, int value, size_t count, Stream stream) {
  return change(next_set_32_async, to, value, count, stream);
}

Error hipDrvMemcpy2DUnaligned(const void* parameters) { return change(next_driver_2d_unaligned, parameters); }

Error hipStreamWriteValue32(Stream stream, void* to, uint32_t value, unsigned flags) {
  return change(next_write_32, stream, to, value, flags);
}

Error hipStreamWriteValue64(Stream stream, void* to, uint64_t value, unsigned flags) {
  return change(next_write_64, stream, to, value, flags);
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::hip
