// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The HIP functions that change memory without a kernel.
#include "recorder/hip/runtime.h"

namespace mneme::record::hip {

using Symbol = const void*;
using Array = const void*;

HOOK_SPT(change, hipMemcpy, void*, const void*, size_t, int)
HOOK_SPT(change, hipMemcpyAsync, void*, const void*, size_t, int, Stream)
HOOK(change, hipMemcpyWithStream, void*, const void*, size_t, int, Stream)
HOOK_SPT(change, hipMemcpy2D, void*, size_t, const void*, size_t, size_t, size_t, int)
HOOK_SPT(change, hipMemcpy2DAsync, void*, size_t, const void*, size_t, size_t, size_t, int, Stream)
HOOK_SPT(change, hipMemcpy3D, const void*)
HOOK_SPT(change, hipMemcpy3DAsync, const void*, Stream)
HOOK(change, hipMemcpyPeer, void*, int, const void*, int, size_t)
HOOK(change, hipMemcpyPeerAsync, void*, int, const void*, int, size_t, Stream)
HOOK_SPT(change, hipMemcpyToSymbol, Symbol, const void*, size_t, size_t, int)
HOOK_SPT(change, hipMemcpyToSymbolAsync, Symbol, const void*, size_t, size_t, int, Stream)
HOOK_SPT(change, hipMemcpyFromSymbol, void*, Symbol, size_t, size_t, int)
HOOK_SPT(change, hipMemcpyFromSymbolAsync, void*, Symbol, size_t, size_t, int, Stream)
HOOK(change, hipMemcpyFromArray, void*, Array, size_t, size_t, size_t, int)
HOOK_SPT(change, hipMemcpy2DFromArray, void*, size_t, Array, size_t, size_t, size_t, size_t, int)
HOOK_SPT(change, hipMemcpy2DFromArrayAsync, void*, size_t, Array, size_t, size_t, size_t, size_t, int, Stream)
HOOK(change, hipMemcpyHtoD, void*, void*, size_t)
HOOK(change, hipMemcpyHtoDAsync, void*, void*, size_t, Stream)
HOOK(change, hipMemcpyDtoH, void*, void*, size_t)
HOOK(change, hipMemcpyDtoHAsync, void*, void*, size_t, Stream)
HOOK(change, hipMemcpyDtoD, void*, void*, size_t)
HOOK(change, hipMemcpyDtoDAsync, void*, void*, size_t, Stream)
HOOK(change, hipMemcpyParam2D, const void*)
HOOK(change, hipMemcpyParam2DAsync, const void*, Stream)
HOOK(change, hipDrvMemcpy2DUnaligned, const void*)
HOOK(change, hipDrvMemcpy3D, const void*)
HOOK(change, hipDrvMemcpy3DAsync, const void*, Stream)

HOOK_SPT(change, hipMemset, void*, int, size_t)
HOOK_SPT(change, hipMemsetAsync, void*, int, size_t, Stream)
HOOK_SPT(change, hipMemset2D, void*, size_t, int, size_t, size_t)
HOOK_SPT(change, hipMemset2DAsync, void*, size_t, int, size_t, size_t, Stream)
HOOK_SPT(change, hipMemset3D, PitchedPointer, int, Extent)
HOOK_SPT(change, hipMemset3DAsync, PitchedPointer, int, Extent, Stream)
HOOK(change, hipMemsetD8, void*, unsigned char, size_t)
HOOK(change, hipMemsetD8Async, void*, unsigned char, size_t, Stream)
HOOK(change, hipMemsetD16, void*, unsigned short, size_t)
HOOK(change, hipMemsetD16Async, void*, unsigned short, size_t, Stream)
HOOK(change, hipMemsetD32, void*, int, size_t)
HOOK(change, hipMemsetD32Async, void*, int, size_t, Stream)

HOOK(change, hipStreamWriteValue32, Stream, void*, uint32_t, unsigned)
HOOK(change, hipStreamWriteValue64, Stream, void*, uint64_t, unsigned)

}  // namespace mneme::record::hip
