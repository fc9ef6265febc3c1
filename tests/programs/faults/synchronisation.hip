// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels whose threads do not synchronise as they have to, and the same without the fault; as faults/races.hip. The
// comment "FIRST name" marks the barrier or collective.

#include <cstring>

#include "../check.h"

constexpr int kThreads = 128, kBlocks = 4;

template <bool kWell>
__global__ void missed(int* out) {
  __shared__ int s[kThreads];
  int t = threadIdx.x;
  s[t] = t;
  if (kWell || t < 96) {
    __syncthreads();  // FIRST missed
  }
  out[blockIdx.x * kThreads + t] = s[t] + 1;
}

// Hardware lets the others go on.
template <bool kWell>
__global__ void left(int* out) {
  __shared__ int s[kThreads];
  int t = threadIdx.x;
  if (!kWell && t >= 100) return;
  s[t] = t;
  __syncthreads();  // FIRST left
  out[blockIdx.x * kThreads + t] = s[t] + 1;
}

template <bool kWell>
__global__ void lane(int* out) {
  int t = threadIdx.x, value = t;
  if (kWell || t % 3 == 0) value += __shfl(t, (t + 1) % 64);  // FIRST lane
  out[blockIdx.x * kThreads + t] = value;
}

#ifndef __CUDA__
template <bool kWell>
__global__ void bare(int* out) {
  __shared__ int s[kThreads];
  int t = threadIdx.x;
  s[t] = t;
  if (kWell) __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();  // FIRST bare
  if (kWell) __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  out[blockIdx.x * kThreads + t] = s[kThreads - 1 - t];
}
#else
template <bool kWell>
__global__ void caller(int* out) {
  int t = threadIdx.x;
  out[blockIdx.x * kThreads + t] = __shfl_xor_sync(kWell ? ~0u : ~4u, t, 1);  // FIRST caller
}

template <bool kWell>
__global__ void others(int* out) {
  int t = threadIdx.x, value = 0;
  if (t % 32 < 20) value = __ballot_sync(kWell ? (1u << 20) - 1 : ~0u, t & 1);  // FIRST others
  __syncwarp();
  out[blockIdx.x * kThreads + t] = value;
}

// Lanes that have ended are nobody's to wait for.
template <bool>
__global__ void ended(int* out) {
  int t = threadIdx.x;
  if (t % 32 >= 20) return;
  __syncwarp();
  out[blockIdx.x * kThreads + t] = __any_sync(~0u, t > 5);
}
#endif

template <void (*kWell)(int*), void (*kBad)(int*)>
int launch(bool well, int* out) {
  if (well) {
    kWell<<<kBlocks, kThreads>>>(out);
  } else {
    kBad<<<kBlocks, kThreads>>>(out);
  }
  return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  int* out;
  check(hipMalloc(reinterpret_cast<void**>(&out), kBlocks * kThreads * sizeof(int)));
  check(hipMemset(out, 0, kBlocks * kThreads * sizeof(int)));
  const bool well = std::strcmp(argv[2], "well") == 0;
#define CASE(name) \
  if (std::strcmp(argv[1], #name) == 0) return launch<name<true>, name<false>>(well, out)
  CASE(missed);
  CASE(left);
  CASE(lane);
#ifndef __CUDA__
  CASE(bare);
#else
  CASE(caller);
  CASE(others);
  CASE(ended);
#endif
  return 2;
}
