// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that compute with bytes that nobody wrote, and the same without; as faults/races.hip. The comment "FIRST name"
// marks the read.

#include <cstring>

#include "../check.h"

constexpr int kThreads = 128, kBlocks = 4;

struct Padded {
  char tag;  // padding after it
  double value;
};

struct Bits {
  unsigned low : 9, high : 7;
};

template <bool kWell>
__global__ void shared(const int*, int* out) {
  __shared__ int s[kThreads];
  int t = threadIdx.x;
  if (kWell || t != 5) s[t] = t;
  __syncthreads();
  out[blockIdx.x * kThreads + t] = s[kThreads - 1 - t] + 1;  // FIRST shared
}

// What is read decides only what is done.
template <bool kWell>
__global__ void branch(const int*, int* out) {
  __shared__ int s[kThreads];
  int t = threadIdx.x;
  if (kWell) s[t] = 0;
  __syncthreads();
  if (s[t ^ 1] > 3) out[t] = 7;  // FIRST branch
}

template <bool kWell>
__global__ void address(const int* in, int* out) {
  __shared__ unsigned char s[kThreads];
  int t = threadIdx.x;
  if (kWell || t < 100) s[t] = static_cast<unsigned char>(t);
  __syncthreads();
  out[blockIdx.x * kThreads + t] = in[s[t]];  // FIRST address
}

// The first launch reads an allocation as it was given out.
template <bool kWell>
__global__ void device(const int* in, int* out) {
  int i = blockIdx.x * kThreads + threadIdx.x;
  out[i] += in[i];  // FIRST device
}

template <bool kWell>
__global__ void updated(const int*, int* out) {
  __shared__ int sum;
  if (kWell && threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, 1);  // FIRST updated
  __syncthreads();
  out[blockIdx.x * kThreads + threadIdx.x] = sum;
}

template <bool kWell>
__global__ void local(const int* in, int* out) {
  int t = threadIdx.x, mine[16];
  for (int k = kWell ? 0 : 1; k < 16; ++k) mine[(k * 3 + in[0]) % 16] = k + t;
  int sum = 0;
  for (int k = 0; k < 16; ++k) sum = sum * 3 + mine[(k + in[1]) % 16];  // FIRST local
  out[blockIdx.x * kThreads + t] = sum;
}

// A sum over shared memory, which carries what nobody wrote from thread to thread.
template <bool kWell>
__global__ void carried(const int* in, int* out) {
  __shared__ int s[kThreads];
  int t = threadIdx.x;
  if (kWell || t < kThreads - 1) s[t] = in[t];
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) s[t] += s[t + half];  // FIRST carried
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

// Right, all of them: padding and bit-fields, and what is read and never looked at.
template <bool>
__global__ void copied(const int* in, int* out) {
  __shared__ Padded s[kThreads];
  __shared__ Bits bits[kThreads];
  __shared__ int tile[kThreads], sums[kThreads];
  int t = threadIdx.x;
  Padded mine;
  mine.tag = static_cast<char>(in[t]);
  mine.value = t;
  s[t] = mine;
  bits[t].low = t;
  bits[t].high = t / 2;
  if (t < 100) tile[t] = t;
  __syncthreads();
  Padded other = s[kThreads - 1 - t];
  sums[t] = tile[t] * 3;
  int sum = static_cast<int>(other.value) + other.tag + bits[t ^ 1].low + bits[t ^ 1].high;
  if (t < 100) sum += sums[t];
  out[blockIdx.x * kThreads + t] = sum;
  reinterpret_cast<Padded*>(out + kBlocks * kThreads)[t] = other;
}

template <void (*kWell)(const int*, int*), void (*kBad)(const int*, int*)>
int launch(bool well, const int* in, int* out) {
  if (well) {
    kWell<<<kBlocks, kThreads>>>(in, out);
  } else {
    kBad<<<kBlocks, kThreads>>>(in, out);
  }
  return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  constexpr std::size_t kSize = kBlocks * kThreads * sizeof(int);
  const bool well = std::strcmp(argv[2], "well") == 0;
  int *in, *out;
  check(hipMalloc(reinterpret_cast<void**>(&in), kSize));
  check(hipMalloc(reinterpret_cast<void**>(&out), kSize + kThreads * sizeof(Padded)));
  check(hipMemset(in, 0, kSize));
  if (well || std::strcmp(argv[1], "device") != 0) check(hipMemset(out, 0, kSize));
#define CASE(name) \
  if (std::strcmp(argv[1], #name) == 0) return launch<name<true>, name<false>>(well, in, out)
  CASE(shared);
  CASE(branch);
  CASE(address);
  CASE(device);
  CASE(updated);
  CASE(local);
  CASE(carried);
  CASE(copied);
  return 2;
}
