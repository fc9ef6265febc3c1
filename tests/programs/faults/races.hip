// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels with a race, and the same without, one launch of the kernel that the argument names. The comments "FIRST
// name" and "SECOND name" mark the two accesses.

#include <cstring>

#include "../check.h"

constexpr int kThreads = 128, kBlocks = 8;

__device__ int flag, counter, lock, table[kBlocks * kThreads];

template <bool kWell>
__global__ void reverse(int* out) {
  __shared__ int s[kThreads];
  int t = threadIdx.x;
  s[t] = t;  // SECOND reverse
  if (kWell) __syncthreads();
  out[blockIdx.x * kThreads + t] = s[kThreads - 1 - t];  // FIRST reverse
}

// A second round overwrites what others still read.
template <bool kWell>
__global__ void rounds(int* out) {
  __shared__ int s[kThreads];
  int t = threadIdx.x, sum = 0;
  for (int i = 0; i < 3; ++i) {
    s[t] = t + i;  // FIRST rounds
    __syncthreads();
    sum += s[kThreads - 1 - t];  // SECOND rounds
    if (kWell) __syncthreads();
  }
  out[blockIdx.x * kThreads + t] = sum;
}

template <bool kWell>
__global__ void bytes(int* out) {
  __shared__ unsigned char s[kThreads];
  int t = threadIdx.x;
  s[t] = static_cast<unsigned char>(t);  // SECOND bytes
  if (kWell) __syncthreads();
  out[blockIdx.x * kThreads + t] = s[t ^ 64];  // FIRST bytes
}

// Through global memory, between blocks.
template <bool kWell>
__global__ void neighbours(int* out) {
  int i = blockIdx.x * kThreads + threadIdx.x;
  out[i] = i;  // SECOND neighbours
  int other = (i + (kWell ? 0 : kThreads)) % (kBlocks * kThreads);
  table[i] = out[other] + 1;  // FIRST neighbours
}

template <bool kWell>
__global__ void count(int*) {
  if (kWell) {
    atomicAdd(&counter, 1);
  } else {
    counter += 1;  // FIRST count
  }
}

template <bool kWell>
__global__ void last_block(int* out) {
  __shared__ int ticket;
  int t = threadIdx.x;
  if (t == 0) {
    table[blockIdx.x] = blockIdx.x + 1;  // SECOND last_block
    if (kWell) __threadfence();
    ticket = atomicAdd(&counter, 1);
  }
  __syncthreads();
  if (ticket == kBlocks - 1 && t < kBlocks) out[t] = table[t];  // FIRST last_block
}

// Each work-item fences what it wrote; one of them tells, behind a barrier.
template <bool kWell>
__global__ void last_block_of_all(int* out) {
  __shared__ int ticket;
  int t = threadIdx.x;
  table[blockIdx.x * kThreads + t] = t;  // SECOND last_block_of_all
  if (kWell) __threadfence();
  __syncthreads();
  if (t == 0) ticket = atomicAdd(&counter, 1);
  __syncthreads();
  if (ticket != kBlocks - 1) return;
  int sum = 0;
  for (int i = 0; i < kBlocks; ++i) sum += table[i * kThreads + t];  // FIRST last_block_of_all
  out[t] = sum;
}

template <bool kWell>
__global__ void locked(int*) {
  if (threadIdx.x != 0) return;
  if (kWell) {
    while (atomicCAS(&lock, 0, 1) != 0) {
    }
    __threadfence();
  }
  table[0] += 1;  // FIRST locked
  if (kWell) {
    __threadfence();
    atomicExch(&lock, 0);
  }
}

// Decoupled look-back: each block waits for the one before.
template <bool kWell>
__global__ void look_back(int* out) {
  volatile int* flags = out;
  int b = blockIdx.x;
  if (threadIdx.x != 0) return;
  int before = 0;
  if (b > 0) {
    while (flags[b - 1] == 0) {
    }
    __threadfence();
    before = table[b - 1];  // FIRST look_back
  }
  table[b] = before + b;  // SECOND look_back
  if (kWell) __threadfence();
  flags[b] = 1;
}

template <bool kWell>
__global__ void equal_values(int* out) {
  int t = threadIdx.x;
  if (kWell) {
    if (t == 0) out[blockIdx.x] = 1;
  } else {
    out[blockIdx.x] = 1;  // FIRST equal_values
  }
}

template <bool kWell>
__global__ void in_step(int* out) {
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t < 64) s[t] = t;
  __syncthreads();
  if (t < 32) {
    s[t] += s[t + 32];  // SECOND in_step
    if (kWell) __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront"), __builtin_amdgcn_wave_barrier();
    if (t < 16) s[t] += s[t + 16];  // FIRST in_step
  }
  __syncthreads();
  if (t == 0) out[blockIdx.x] = s[0];
}

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
  check(hipMalloc(&out, kBlocks * kThreads * sizeof(int)));
  check(hipMemset(out, 0, kBlocks * kThreads * sizeof(int)));
  const bool well = std::strcmp(argv[2], "well") == 0;
#define CASE(name) \
  if (std::strcmp(argv[1], #name) == 0) return launch<name<true>, name<false>>(well, out)
  CASE(reverse);
  CASE(rounds);
  CASE(bytes);
  CASE(neighbours);
  CASE(count);
  CASE(last_block);
  CASE(last_block_of_all);
  CASE(locked);
  CASE(look_back);
  CASE(equal_values);
  CASE(in_step);
  return 2;
}
