// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of CUDA's runtime and of its driver that change memory without a kernel.
#include "recorder/cuda/runtime.h"

namespace mneme::record::cuda {

using Symbol = const void*;

// ---- the runtime's ----
HOOK_PTDS(change, cudaMemcpy, void*, const void*, size_t, int)
HOOK_PTSZ(change, cudaMemcpyAsync, void*, const void*, size_t, int, Stream)
HOOK_PTDS(change, cudaMemcpy2D, void*, size_t, const void*, size_t, size_t, size_t, int)
HOOK_PTSZ(change, cudaMemcpy2DAsync, void*, size_t, const void*, size_t, size_t, size_t, int, Stream)
HOOK_PTDS(change, cudaMemcpy3D, const void*)
HOOK_PTSZ(change, cudaMemcpy3DAsync, const void*, Stream)
HOOK(change, cudaMemcpyPeer, void*, int, const void*, int, size_t)
HOOK(change, cudaMemcpyPeerAsync, void*, int, const void*, int, size_t, Stream)
HOOK_PTDS(change, cudaMemcpyToSymbol, Symbol, const void*, size_t, size_t, int)
HOOK_PTSZ(change, cudaMemcpyToSymbolAsync, Symbol, const void*, size_t, size_t, int, Stream)
HOOK_PTDS(change, cudaMemcpyFromSymbol, void*, Symbol, size_t, size_t, int)
HOOK_PTSZ(change, cudaMemcpyFromSymbolAsync, void*, Symbol, size_t, size_t, int, Stream)
HOOK_PTDS(change, cudaMemset, void*, int, size_t)
HOOK_PTSZ(change, cudaMemsetAsync, void*, int, size_t, Stream)
HOOK_PTDS(change, cudaMemset2D, void*, size_t, int, size_t, size_t)
HOOK_PTSZ(change, cudaMemset2DAsync, void*, size_t, int, size_t, size_t, Stream)
HOOK_PTDS(change, cudaMemset3D, PitchedPointer, int, Extent)
HOOK_PTSZ(change, cudaMemset3DAsync, PitchedPointer, int, Extent, Stream)

// ---- the driver's ----
HOOK_PTDS(change, cuMemcpyHtoD_v2, Address, const void*, size_t)
HOOK_PTSZ(change, cuMemcpyHtoDAsync_v2, Address, const void*, size_t, Stream)
HOOK_PTDS(change, cuMemcpyDtoH_v2, void*, Address, size_t)
HOOK_PTSZ(change, cuMemcpyDtoHAsync_v2, void*, Address, size_t, Stream)
HOOK_PTDS(change, cuMemcpyDtoD_v2, Address, Address, size_t)
HOOK_PTSZ(change, cuMemcpyDtoDAsync_v2, Address, Address, size_t, Stream)
HOOK_PTDS(change, cuMemcpy, Address, Address, size_t)
HOOK_PTSZ(change, cuMemcpyAsync, Address, Address, size_t, Stream)
HOOK_PTDS(change, cuMemcpy2D_v2, const void*)
HOOK_PTSZ(change, cuMemcpy2DAsync_v2, const void*, Stream)
HOOK_PTDS(change, cuMemcpy2DUnaligned_v2, const void*)
HOOK_PTDS(change, cuMemcpy3D_v2, const void*)
HOOK_PTSZ(change, cuMemcpy3DAsync_v2, const void*, Stream)
HOOK_PTDS(change, cuMemcpyPeer, Address, void*, Address, void*, size_t)
HOOK_PTSZ(change, cuMemcpyPeerAsync, Address, void*, Address, void*, size_t, Stream)
HOOK_PTDS(change, cuMemcpy3DPeer, const void*)
HOOK_PTSZ(change, cuMemcpy3DPeerAsync, const void*, Stream)
HOOK_PTDS(change, cuMemcpyAtoD_v2, Address, void*, size_t, size_t)
HOOK_PTSZ(change, cuStreamWriteValue32_v2, Stream, Address, uint32_t, unsigned)
HOOK_PTSZ(change, cuStreamWriteValue64_v2, Stream, Address, uint64_t, unsigned)
HOOK_PTSZ(change, cuStreamBatchMemOp_v2, Stream, unsigned, void*, unsigned)
HOOK_PTDS(change, cuMemsetD8_v2, Address, unsigned char, size_t)
HOOK_PTSZ(change, cuMemsetD8Async, Address, unsigned char, size_t, Stream)
HOOK_PTDS(change, cuMemsetD16_v2, Address, unsigned short, size_t)
HOOK_PTSZ(change, cuMemsetD16Async, Address, unsigned short, size_t, Stream)
HOOK_PTDS(change, cuMemsetD32_v2, Address, unsigned, size_t)
HOOK_PTSZ(change, cuMemsetD32Async, Address, unsigned, size_t, Stream)
HOOK_PTDS(change, cuMemsetD2D8_v2, Address, size_t, unsigned char, size_t, size_t)
HOOK_PTSZ(change, cuMemsetD2D8Async, Address, size_t, unsigned char, size_t, size_t, Stream)
HOOK_PTDS(change, cuMemsetD2D16_v2, Address, size_t, unsigned short, size_t, size_t)
HOOK_PTSZ(change, cuMemsetD2D16Async, Address, size_t, unsigned short, size_t, size_t, Stream)
HOOK_PTDS(change, cuMemsetD2D32_v2, Address, size_t, unsigned, size_t, size_t)
HOOK_PTSZ(change, cuMemsetD2D32Async, Address, size_t, unsigned, size_t, size_t, Stream)

// ---- several pieces of memory at once ----
// Under the same name, the runtime's have one parameter less in CUDA 13 than in CUDA 12. Both are called with the
// words of the longer one: the last is whatever the caller's frame holds, and CUDA 13's functions do not read it.
using Word = uint64_t;
HOOK_PTSZ(change, cudaMemcpyBatchAsync, Word, Word, Word, Word, Word, Word, Word, Word, Word)
HOOK_PTSZ(change, cudaMemcpy3DBatchAsync, Word, Word, Word, Word, Word)
HOOK_PTSZ(change, cuMemcpyBatchAsync, Word, Word, Word, Word, Word, Word, Word, Word, Word)
HOOK_PTSZ(change, cuMemcpyBatchAsync_v2, Word, Word, Word, Word, Word, Word, Word, Word, Word)
HOOK_PTSZ(change, cuMemcpy3DBatchAsync, Word, Word, Word, Word, Word)
HOOK_PTSZ(change, cuMemcpy3DBatchAsync_v2, Word, Word, Word, Word, Word)

}  // namespace mneme::record::cuda
