// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of some 5 us to 5 ms, some bound by arithmetic and some by memory, each launched again and again: what they
// take here (kernel_times_cupti.cc) is compared with what mneme-run says of them. No launch changes what the next one
// reads.
//
// Where memory lies makes a difference of a few percent to kernels that are at home in the cache: on an H200, chase<20>
// takes 7.20 to 7.46 us and settle<32> 11.6 to 12.1 us at ten places in one process, the same at each in the next
// process. So those run at several places here, and what a replay takes is to lie among what they take.
//
// stream<16> all but fills that cache: it takes as long replayed as here only if its output is restored from the host's
// memory, since a copy on the GPU goes through the cache, too; settle takes as long only if it is restored from such a
// copy, by a kernel, which leaves each part of the cache what the processors near it will read.
#include <cstdio>
#include <vector>

#include "kernel_times.h"

template <int kSteps>
__global__ void arithmetic(float* out) {
  int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  float x = static_cast<float>(i), y = 1;
  for (int step = 0; step < kSteps; ++step) {
    x = x * 0.5f + y;
    y = y * 0.25f + x;
  }
  out[i] = fminf(x + y, kSteps);  // another number than what others may have left there
}

template <int kMegabytes>  // of each array
__global__ void stream(float4* out, const float4* in) {
  size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  float4 value = in[i];
  out[i] = {value.w + 1, value.z + 1, value.y + 1, value.x + 1};
}

// In place: what is put back is what is read.
template <int kMegabytes>
__global__ void settle(float4* data) {
  size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  float4 value = data[i];
  data[i] = {fmaxf(value.x, 1), fmaxf(value.y, 1), fmaxf(value.z, 1), fmaxf(value.w, 1)};
}

// Bound by the latency of memory.
template <int kSteps>
__global__ void chase(unsigned* out, const unsigned* next, unsigned mask) {
  unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned self = at;
  for (int step = 0; step < kSteps; ++step) at = next[(at * 2654435761u + step) & mask];
  out[self] = at;
}

__global__ void fill(unsigned* words, size_t count) {
  size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  if (i < count) words[i] = static_cast<unsigned>(i >> 12);  // little, when it is compressed
}

template <class Launch>
void repeat(const Launch& launch) {
  for (int i = 0; i < kLaunches; ++i) {
    launch();
    cudaDeviceSynchronize();
  }
}

// Memory that stays where it is until all of it is given back: what is asked for next lies elsewhere.
class Places {
 public:
  template <class T>
  T* take(size_t bytes) {
    void* memory = nullptr;
    ok_ = cudaMalloc(&memory, bytes) == cudaSuccess && ok_;
    taken_.push_back(memory);
    return static_cast<T*>(memory);
  }
  template <class T>
  T* take_filled(size_t bytes) {
    auto* words = take<unsigned>(bytes);
    if (ok_) fill<<<bytes / 4 / 256, 256>>>(words, bytes / 4);
    return reinterpret_cast<T*>(words);
  }
  bool give_back() {
    for (void* memory : taken_) cudaFree(memory);
    taken_.clear();
    return ok_;
  }

 private:
  std::vector<void*> taken_;
  bool ok_ = true;
};

template <int kMegabytes>
bool stream_through(int places) {
  constexpr size_t kBytes = size_t{kMegabytes} << 20;
  Places memory;
  for (int place = 0; place < places; ++place) {
    auto* in = memory.take_filled<float4>(kBytes);
    auto* out = memory.take<float4>(kBytes);
    repeat([&] { stream<kMegabytes><<<kBytes / sizeof(float4) / 256, 256>>>(out, in); });
  }
  return memory.give_back();
}

template <int kMegabytes>
bool settle_down() {
  constexpr size_t kBytes = size_t{kMegabytes} << 20;
  Places memory;
  for (int place = 0; place < kPlaces; ++place) {
    auto* data = memory.take_filled<float4>(kBytes);
    repeat([&] { settle<kMegabytes><<<kBytes / sizeof(float4) / 256, 256>>>(data); });
  }
  return memory.give_back();
}

constexpr int kBlocks = 132 * 8, kThreads = 256;

template <int kSteps>
bool follow() {
  constexpr unsigned kWords = 1 << 20;
  Places memory;
  for (int place = 0; place < kPlaces; ++place) {
    auto* next = memory.take_filled<unsigned>(kWords * sizeof(unsigned));
    auto* seen = memory.take<unsigned>(kBlocks * kThreads * sizeof(unsigned));
    repeat([&] { chase<kSteps><<<kBlocks, kThreads>>>(seen, next, kWords - 1); });
  }
  return memory.give_back();
}

template <int kSteps>
bool compute() {
  Places memory;
  auto* out = memory.take<float>(kBlocks * kThreads * sizeof(float));
  repeat([&] { arithmetic<kSteps><<<kBlocks, kThreads>>>(out); });
  return memory.give_back();
}

int main() {
  bool ok = compute<400>() && compute<4000>() && compute<40000>() && compute<300000>() && follow<20>() &&
            follow<1000>() && stream_through<8>(kPlaces) && stream_through<16>(kPlaces) && stream_through<64>(1) &&
            stream_through<512>(1) && stream_through<2048>(1) && settle_down<4>() && settle_down<16>() &&
            settle_down<32>();
  ok = ok && cudaDeviceSynchronize() == cudaSuccess;
  std::puts(ok ? "kernel_times: ok" : "kernel_times: FAILED");
  return ok ? 0 : 1;
}
