// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// clang 19 includes this header, which CUDA 13 no longer has, whatever is compiled. Older toolkits' own is used.
#if __has_include_next(<texture_fetch_functions.h>)
#include_next <texture_fetch_functions.h>
#endif
