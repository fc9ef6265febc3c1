// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What changes memory without a kernel, as programs call it that are compiled for a default stream of each thread's.
#include "recorder/cuda/runtime.h"

namespace mneme::record::cuda {
namespace {

using Symbol = const void*;

constinit Next<Error(void*, const void*, size_t, int)> next_copy(kLibrary, "cudaMemcpy_ptds");
constinit Next<Error(void*, const void*, size_t, int, Stream)> next_copy_async(kLibrary, "cudaMemcpyAsync_ptsz");
constinit Next<Error(void*, size_t, const void*, size_t, size_t, size_t, int)> next_copy_2d(kLibrary,
                                                                                            "cudaMemcpy2D_ptds");
constinit Next<Error(void*, size_t, const void*, size_t, size_t, size_t, int, Stream)> next_copy_2d_async(
    kLibrary, "cudaMemcpy2DAsync_ptsz");
constinit Next<Error(const void*)> next_copy_3d(kLibrary, "cudaMemcpy3D_ptds");
constinit Next<Error(const void*, Stream)> next_copy_3d_async(kLibrary, "cudaMemcpy3DAsync_ptsz");
constinit Next<Error(Symbol, const void*, size_t, size_t, int)> next_to_symbol(kLibrary, "cudaMemcpyToSymbol_ptds");
constinit Next<Error(Symbol, const void*, size_t, size_t, int, Stream)> next_to_symbol_async(
    kLibrary, "cudaMemcpyToSymbolAsync_ptsz");
constinit Next<Error(void*, Symbol, size_t, size_t, int)> next_from_symbol(kLibrary, "cudaMemcpyFromSymbol_ptds");
constinit Next<Error(void*, Symbol, size_t, size_t, int, Stream)> next_from_symbol_async(
    kLibrary, "cudaMemcpyFromSymbolAsync_ptsz");
constinit Next<Error(void*, int, size_t)> next_set(kLibrary, "cudaMemset_ptds");
constinit Next<Error(void*, int, size_t, Stream)> next_set_async(kLibrary, "cudaMemsetAsync_ptsz");
constinit Next<Error(void*, size_t, int, size_t, size_t)> next_set_2d(kLibrary, "cudaMemset2D_ptds");
constinit Next<Error(void*, size_t, int, size_t, size_t, Stream)> next_set_2d_async(kLibrary, "cudaMemset2DAsync_ptsz");
constinit Next<Error(PitchedPointer, int, Extent)> next_set_3d(kLibrary, "cudaMemset3D_ptds");
constinit Next<Error(PitchedPointer, int, Extent, Stream)> next_set_3d_async(kLibrary, "cudaMemset3DAsync_ptsz");

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

Error cudaMemcpy_ptds(void* to, const void* from, size_t size, int kind) {
  return change(next_copy, to, from, size, kind);
}

Error cudaMemcpyAsync_ptsz(void* to, const void* from, size_t size, int kind, Stream stream) {
  return change(next_copy_async, to, from, size, kind, stream);
}

Error cudaMemcpy2D_ptds(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                        int kind) {
  return change(next_copy_2d, to, to_pitch, from, from_pitch, width, height, kind);
}

Error cudaMemcpy2DAsync_ptsz(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                             size_t height, int kind, Stream stream) {
  return change(next_copy_2d_async, to, to_pitch, from, from_pitch, width, height, kind, stream);
}

Error cudaMemcpy3D_ptds(const void* parameters) { return change(next_copy_3d, parameters); }

Error cudaMemcpy3DAsync_ptsz(const void* parameters, Stream stream) {
  return change(next_copy_3d_async, parameters, stream);
}

Error cudaMemcpyToSymbol_ptds(Symbol to, const void* from, size_t size, size_t offset, int kind) {
  return change(next_to_symbol, to, from, size, offset, kind);
}

Error cudaMemcpyToSymbolAsync_ptsz(Symbol to, const void* from, size_t size, size_t offset, int kind, Stream stream) {
  return change(next_to_symbol_async, to, from, size, offset, kind, stream);
}

Error cudaMemcpyFromSymbol_ptds(void* to, Symbol from, size_t size, size_t offset, int kind) {
  return change(next_from_symbol, to, from, size, offset, kind);
}

Error cudaMemcpyFromSymbolAsync_ptsz(void* to, Symbol from, size_t size, size_t offset, int kind, Stream stream) {
  return change(next_from_symbol_async, to, from, size, offset, kind, stream);
}

Error cudaMemset_ptds(void* to, int value, size_t size) { return change(next_set, to, value, size); }

Error cudaMemsetAsync_ptsz(void* to, int value, size_t size, Stream stream) {
  return change(next_set_async, to, value, size, stream);
}

Error cudaMemset2D_ptds(void* to, size_t pitch, int value, size_t width, size_t height) {
  return change(next_set_2d, to, pitch, value, width, height);
}

Error cudaMemset2DAsync_ptsz(void* to, size_t pitch, int value, size_t width, size_t height, Stream stream) {
  return change(next_set_2d_async, to, pitch, value, width, height, stream);
}

Error cudaMemset3D_ptds(PitchedPointer to, int value, Extent extent) { return change(next_set_3d, to, value, extent); }

Error cudaMemset3DAsync_ptsz(PitchedPointer to, int value, Extent extent, Stream stream) {
  return change(next_set_3d_async, to, value, extent, stream);
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::cuda
