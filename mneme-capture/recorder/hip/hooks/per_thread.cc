// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What changes memory without a kernel, as programs call it that are compiled for a default stream of each thread's.
#include "recorder/hip/runtime.h"

namespace mneme::record::hip {
namespace {

using Symbol = const void*;

constinit Next<Error(void*, const void*, size_t, int)> next_copy(kLibrary, "hipMemcpy_spt");
constinit Next<Error(void*, const void*, size_t, int, Stream)> next_copy_async(kLibrary, "hipMemcpyAsync_spt");
constinit Next<Error(void*, size_t, const void*, size_t, size_t, size_t, int)> next_copy_2d(kLibrary,
                                                                                            "hipMemcpy2D_spt");
constinit Next<Error(void*, size_t, const void*, size_t, size_t, size_t, int, Stream)> next_copy_2d_async(
    kLibrary, "hipMemcpy2DAsync_spt");
constinit Next<Error(const void*)> next_copy_3d(kLibrary, "hipMemcpy3D_spt");
constinit Next<Error(const void*, Stream)> next_copy_3d_async(kLibrary, "hipMemcpy3DAsync_spt");
constinit Next<Error(Symbol, const void*, size_t, size_t, int)> next_to_symbol(kLibrary, "hipMemcpyToSymbol_spt");
constinit Next<Error(Symbol, const void*, size_t, size_t, int, Stream)> next_to_symbol_async(
    kLibrary, "hipMemcpyToSymbolAsync_spt");
constinit Next<Error(void*, Symbol, size_t, size_t, int)> next_from_symbol(kLibrary, "hipMemcpyFromSymbol_spt");
constinit Next<Error(void*, Symbol, size_t, size_t, int, Stream)> next_from_symbol_async(
    kLibrary, "hipMemcpyFromSymbolAsync_spt");
constinit Next<Error(void*, int, size_t)> next_set(kLibrary, "hipMemset_spt");
constinit Next<Error(void*, int, size_t, Stream)> next_set_async(kLibrary, "hipMemsetAsync_spt");
constinit Next<Error(void*, size_t, int, size_t, size_t)> next_set_2d(kLibrary, "hipMemset2D_spt");
constinit Next<Error(void*, size_t, int, size_t, size_t, Stream)> next_set_2d_async(kLibrary, "hipMemset2DAsync_spt");
constinit Next<Error(PitchedPointer, int, Extent)> next_set_3d(kLibrary, "hipMemset3D_spt");
constinit Next<Error(PitchedPointer, int, Extent, Stream)> next_set_3d_async(kLibrary, "hipMemset3DAsync_spt");
constinit Next<Error(void*, size_t, const void*, size_t, size_t, size_t, size_t, int)> next_2d_from_array(
    kLibrary, "hipMemcpy2DFromArray_spt");
constinit Next<Error(void*, size_t, const void*, size_t, size_t, size_t, size_t, int, Stream)> next_2d_from_array_async(
    kLibrary, "hipMemcpy2DFromArrayAsync_spt");

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

Error hipMemcpy_spt(void* to, const void* from, size_t size, int kind) {
  return change(next_copy, to, from, size, kind);
}

Error hipMemcpyAsync_spt(void* to, const void* from, size_t size, int kind, Stream stream) {
  return change(next_copy_async, to, from, size, kind, stream);
}

Error hipMemcpy2D_spt(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                      int kind) {
  return change(next_copy_2d, to, to_pitch, from, from_pitch, width, height, kind);
}

Error hipMemcpy2DAsync_spt(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                           int kind, Stream stream) {
  return change(next_copy_2d_async, to, to_pitch, from, from_pitch, width, height, kind, stream);
}

Error hipMemcpy3D_spt(const void* parameters) { return change(next_copy_3d, parameters); }

Error hipMemcpy3DAsync_spt(const void* parameters, Stream stream) {
  return change(next_copy_3d_async, parameters, stream);
}

Error hipMemcpyToSymbol_spt(Symbol to, const void* from, size_t size, size_t offset, int kind) {
  return change(next_to_symbol, to, from, size, offset, kind);
}

Error hipMemcpyToSymbolAsync_spt(Symbol to, const void* from, size_t size, size_t offset, int kind, Stream stream) {
  return change(next_to_symbol_async, to, from, size, offset, kind, stream);
}

Error hipMemcpyFromSymbol_spt(void* to, Symbol from, size_t size, size_t offset, int kind) {
  return change(next_from_symbol, to, from, size, offset, kind);
}

Error hipMemcpyFromSymbolAsync_spt(void* to, Symbol from, size_t size, size_t offset, int kind, Stream stream) {
  return change(next_from_symbol_async, to, from, size, offset, kind, stream);
}

Error hipMemset_spt(void* to, int value, size_t size) { return change(next_set, to, value, size); }

Error hipMemsetAsync_spt(void* to, int value, size_t size, Stream stream) {
  return change(next_set_async, to, value, size, stream);
}

Error hipMemset2D_spt(void* to, size_t pitch, int value, size_t width, size_t height) {
  return change(next_set_2d, to, pitch, value, width, height);
}

Error hipMemset2DAsync_spt(void* to, size_t pitch, int value, size_t width, size_t height, Stream stream) {
  return change(next_set_2d_async, to, pitch, value, width, height, stream);
}

Error hipMemset3D_spt(PitchedPointer to, int value, Extent extent) { return change(next_set_3d, to, value, extent); }

Error hipMemset3DAsync_spt(PitchedPointer to, int value, Extent extent, Stream stream) {
  return change(next_set_3d_async, to, value, extent, stream);
}

Error hipMemcpy2DFromArray_spt(void* to, size_t pitch, const void* from, size_t column, size_t row, size_t width,
                               size_t height, int kind) {
  return change(next_2d_from_array, to, pitch, from, column, row, width, height, kind);
}

Error hipMemcpy2DFromArrayAsync_spt(void* to, size_t pitch, const void* from, size_t column, size_t row, size_t width,
                                    size_t height, int kind, Stream stream) {
  return change(next_2d_from_array_async, to, pitch, from, column, row, width, height, kind, stream);
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::hip
