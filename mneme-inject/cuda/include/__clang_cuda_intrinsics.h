// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// clang 19's __reduce_…_sync(mask, value) hand the two to the instruction the wrong way round (LLVM issue 131415):
// while its header is read, they are turned back.
#if __clang_major__ == 19
#pragma push_macro("__nvvm_redux_sync_add")
#pragma push_macro("__nvvm_redux_sync_min")
#pragma push_macro("__nvvm_redux_sync_max")
#pragma push_macro("__nvvm_redux_sync_umin")
#pragma push_macro("__nvvm_redux_sync_umax")
#pragma push_macro("__nvvm_redux_sync_and")
#pragma push_macro("__nvvm_redux_sync_or")
#pragma push_macro("__nvvm_redux_sync_xor")
#define __nvvm_redux_sync_add(mask, value) __nvvm_redux_sync_add(value, mask)
#define __nvvm_redux_sync_min(mask, value) __nvvm_redux_sync_min(value, mask)
#define __nvvm_redux_sync_max(mask, value) __nvvm_redux_sync_max(value, mask)
#define __nvvm_redux_sync_umin(mask, value) __nvvm_redux_sync_umin(value, mask)
#define __nvvm_redux_sync_umax(mask, value) __nvvm_redux_sync_umax(value, mask)
#define __nvvm_redux_sync_and(mask, value) __nvvm_redux_sync_and(value, mask)
#define __nvvm_redux_sync_or(mask, value) __nvvm_redux_sync_or(value, mask)
#define __nvvm_redux_sync_xor(mask, value) __nvvm_redux_sync_xor(value, mask)
#endif
#include_next <__clang_cuda_intrinsics.h>
#if __clang_major__ == 19
#pragma pop_macro("__nvvm_redux_sync_add")
#pragma pop_macro("__nvvm_redux_sync_min")
#pragma pop_macro("__nvvm_redux_sync_max")
#pragma pop_macro("__nvvm_redux_sync_umin")
#pragma pop_macro("__nvvm_redux_sync_umax")
#pragma pop_macro("__nvvm_redux_sync_and")
#pragma pop_macro("__nvvm_redux_sync_or")
#pragma pop_macro("__nvvm_redux_sync_xor")

// CUDA's header calls __usAtomicCAS, which nvcc has built in and clang 19 has not: ptxas finds no such function. It is
// the only one of its kind. The host's pass knows no such assembly, and does not need it.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
extern "C" inline __device__ unsigned short __usAtomicCAS(unsigned short* __address, unsigned short __compare,
                                                          unsigned short __value) {
  unsigned short __old;
  asm volatile("atom.cas.b16 %0, [%1], %2, %3;"
               : "=h"(__old)
               : "l"(__address), "h"(__compare), "h"(__value)
               : "memory");
  return __old;
}
#endif
#endif
