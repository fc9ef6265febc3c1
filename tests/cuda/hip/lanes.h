// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// HIP's functions among the lanes of a wave, as CUDA's: those take part that are there, whom CUDA's want to be told.
#pragma once

#include <cooperative_groups.h>  // uses some of these names for something else

namespace hip_names {

template <class T>
__device__ T shfl(T value, int lane, int width = 32) {
  return __shfl_sync(__activemask(), value, lane, width < 32 ? width : 32);
}
template <class T>
__device__ T shfl_up(T value, unsigned distance, int width = 32) {
  return __shfl_up_sync(__activemask(), value, distance, width < 32 ? width : 32);
}
template <class T>
__device__ T shfl_down(T value, unsigned distance, int width = 32) {
  return __shfl_down_sync(__activemask(), value, distance, width < 32 ? width : 32);
}
template <class T>
__device__ T shfl_xor(T value, int lanes, int width = 32) {
  return __shfl_xor_sync(__activemask(), value, lanes, width < 32 ? width : 32);
}
inline __device__ unsigned long long ballot(int predicate) { return __ballot_sync(__activemask(), predicate); }
inline __device__ int any(int predicate) { return __any_sync(__activemask(), predicate); }
inline __device__ int all(int predicate) { return __all_sync(__activemask(), predicate); }

}  // namespace hip_names

#define __shfl(...) hip_names::shfl(__VA_ARGS__)
#define __shfl_up(...) hip_names::shfl_up(__VA_ARGS__)
#define __shfl_down(...) hip_names::shfl_down(__VA_ARGS__)
#define __shfl_xor(...) hip_names::shfl_xor(__VA_ARGS__)
#define __ballot(predicate) hip_names::ballot(predicate)
#define __any(predicate) hip_names::any(predicate)
#define __all(predicate) hip_names::all(predicate)
