// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The CUDA functions that change memory without a kernel, as the application finds them first: while another thread's
// launch is recorded they wait, else what they do would be taken for the kernel's.
#include "recorder/cuda/runtime.h"

namespace mneme::record::cuda {
namespace {

using Symbol = const void*;

constinit Next<Error(void*, const void*, size_t, int)> next_copy(kLibrary, "cudaMemcpy");
constinit Next<Error(void*, const void*, size_t, int, Stream)> next_copy_async(kLibrary, "cudaMemcpyAsync");
constinit Next<Error(void*, size_t, const void*, size_t, size_t, size_t, int)> next_copy_2d(kLibrary, "cudaMemcpy2D");
constinit Next<Error(void*, size_t, const void*, size_t, size_t, size_t, int, Stream)> next_copy_2d_async(
    kLibrary, "cudaMemcpy2DAsync");
constinit Next<Error(const void*)> next_copy_3d(kLibrary, "cudaMemcpy3D");
constinit Next<Error(const void*, Stream)> next_copy_3d_async(kLibrary, "cudaMemcpy3DAsync");
constinit Next<Error(void*, int, const void*, int, size_t)> next_copy_peer(kLibrary, "cudaMemcpyPeer");
constinit Next<Error(void*, int, const void*, int, size_t, Stream)> next_copy_peer_async(kLibrary,
                                                                                         "cudaMemcpyPeerAsync");
constinit Next<Error(Symbol, const void*, size_t, size_t, int)> next_to_symbol(kLibrary, "cudaMemcpyToSymbol");
constinit Next<Error(Symbol, const void*, size_t, size_t, int, Stream)> next_to_symbol_async(kLibrary,
                                                                                             "cudaMemcpyToSymbolAsync");
constinit Next<Error(void*, Symbol, size_t, size_t, int)> next_from_symbol(kLibrary, "cudaMemcpyFromSymbol");
constinit Next<Error(void*, Symbol, size_t, size_t, int, Stream)> next_from_symbol_async(kLibrary,
                                                                                         "cudaMemcpyFromSymbolAsync");
constinit Next<Error(void*, int, size_t)> next_set(kLibrary, "cudaMemset");
constinit Next<Error(void*, int, size_t, Stream)> next_set_async(kLibrary, "cudaMemsetAsync");
constinit Next<Error(void*, size_t, int, size_t, size_t)> next_set_2d(kLibrary, "cudaMemset2D");
constinit Next<Error(void*, size_t, int, size_t, size_t, Stream)> next_set_2d_async(kLibrary, "cudaMemset2DAsync");
constinit Next<Error(PitchedPointer, int, Extent)> next_set_3d(kLibrary, "cudaMemset3D");
constinit Next<Error(PitchedPointer, int, Extent, Stream)> next_set_3d_async(kLibrary, "cudaMemset3DAsync");

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

Error cudaMemcpy(void* to, const void* from, size_t size, int kind) { return change(next_copy, to, from, size, kind); }

Error cudaMemcpyAsync(void* to, const void* from, size_t size, int kind, Stream stream) {
  return change(next_copy_async, to, from, size, kind, stream);
}

Error cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                   int kind) {
  return change(next_copy_2d, to, to_pitch, from, from_pitch, width, height, kind);
}

Error cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                        int kind, Stream stream) {
  return change(next_copy_2d_async, to, to_pitch, from, from_pitch, width, height, kind, stream);
}

Error cudaMemcpy3D(const void* parameters) { return change(next_copy_3d, parameters); }

Error cudaMemcpy3DAsync(const void* parameters, Stream stream) {
  return change(next_copy_3d_async, parameters, stream);
}

Error cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t size) {
  return change(next_copy_peer, to, to_device, from, from_device, size);
}

Error cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t size, Stream stream) {
  return change(next_copy_peer_async, to, to_device, from, from_device, size, stream);
}

Error cudaMemcpyToSymbol(Symbol to, const void* from, size_t size, size_t offset, int kind) {
  return change(next_to_symbol, to, from, size, offset, kind);
}

Error cudaMemcpyToSymbolAsync(Symbol to, const void* from, size_t size, size_t offset, int kind, Stream stream) {
  return change(next_to_symbol_async, to, from, size, offset, kind, stream);
}

Error cudaMemcpyFromSymbol(void* to, Symbol from, size_t size, size_t offset, int kind) {
  return change(next_from_symbol, to, from, size, offset, kind);
}

Error cudaMemcpyFromSymbolAsync(void* to, Symbol from, size_t size, size_t offset, int kind, Stream stream) {
  return change(next_from_symbol_async, to, from, size, offset, kind, stream);
}

Error cudaMemset(void* to, int value, size_t size) { return change(next_set, to, value, size); }

Error cudaMemsetAsync(void* to, int value, size_t size, Stream stream) {
  return change(next_set_async, to, value, size, stream);
}

Error cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return change(next_set_2d, to, pitch, value, width, height);
}

Error cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height, Stream stream) {
  return change(next_set_2d_async, to, pitch, value, width, height, stream);
}

Error cudaMemset3D(PitchedPointer to, int value, Extent extent) { return change(next_set_3d, to, value, extent); }

Error cudaMemset3DAsync(PitchedPointer to, int value, Extent extent, Stream stream) {
  return change(next_set_3d_async, to, value, extent, stream);
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::cuda
