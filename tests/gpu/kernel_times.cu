// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of some 5 us to 5 ms, some bound by arithmetic and some by memory, each launched again and again: what they
// take here (kernel_times_cupti.cc) is compared with what mneme-run says of them. No launch changes what the next one
// reads.
//
// On an H200, stream<16>, which all but fills the cache, takes 1.18 times as long replayed: the copy that memory was
// put back from has been through the cache, too (from constants instead of a copy, it would take as long as here).
// chase<20> and settle<32>, at home in the cache, are 2 to 4 % quicker, as they are in an application that allocates
// elsewhere: at ten places in one process they took 7.20 to 7.46 us and 11.6 to 12.1 us, the same at each in the next
// process.
#include <cstdio>
#include <initializer_list>

constexpr int kLaunches = 41;

template <int kSteps>
__global__ void arithmetic(float* out) {
  int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  float x = static_cast<float>(i), y = 1;
  for (int step = 0; step < kSteps; ++step) {
    x = x * 0.5f + y;
    y = y * 0.25f + x;
  }
  out[i] = x + y;
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

template <int kMegabytes>
bool stream_through() {
  constexpr size_t kBytes = size_t{kMegabytes} << 20;
  float4 *in = nullptr, *out = nullptr;
  bool ok = cudaMalloc(&in, kBytes) == cudaSuccess && cudaMalloc(&out, kBytes) == cudaSuccess;
  fill<<<kBytes / 4 / 256, 256>>>(reinterpret_cast<unsigned*>(in), kBytes / 4);
  repeat([&] { stream<kMegabytes><<<kBytes / sizeof(float4) / 256, 256>>>(out, in); });
  ok = ok && cudaGetLastError() == cudaSuccess;
  cudaFree(in);
  cudaFree(out);
  return ok;
}

template <int kMegabytes>
bool settle_down() {
  constexpr size_t kBytes = size_t{kMegabytes} << 20;
  float4* data = nullptr;
  bool ok = cudaMalloc(&data, kBytes) == cudaSuccess;
  fill<<<kBytes / 4 / 256, 256>>>(reinterpret_cast<unsigned*>(data), kBytes / 4);
  repeat([&] { settle<kMegabytes><<<kBytes / sizeof(float4) / 256, 256>>>(data); });
  ok = ok && cudaGetLastError() == cudaSuccess;
  cudaFree(data);
  return ok;
}

int main() {
  constexpr int kBlocks = 132 * 8, kThreads = 256;
  constexpr unsigned kWords = 1 << 20;
  float* out = nullptr;
  unsigned *next = nullptr, *seen = nullptr;
  bool ok = cudaMalloc(&out, kBlocks * kThreads * sizeof(float)) == cudaSuccess &&
            cudaMalloc(&next, kWords * sizeof(unsigned)) == cudaSuccess &&
            cudaMalloc(&seen, kBlocks * kThreads * sizeof(unsigned)) == cudaSuccess;
  fill<<<kWords / 256, 256>>>(next, kWords);
  repeat([&] { arithmetic<400><<<kBlocks, kThreads>>>(out); });
  repeat([&] { arithmetic<4000><<<kBlocks, kThreads>>>(out); });
  repeat([&] { arithmetic<40000><<<kBlocks, kThreads>>>(out); });
  repeat([&] { arithmetic<300000><<<kBlocks, kThreads>>>(out); });
  repeat([&] { chase<20><<<kBlocks, kThreads>>>(seen, next, kWords - 1); });
  repeat([&] { chase<1000><<<kBlocks, kThreads>>>(seen, next, kWords - 1); });
  ok = ok && stream_through<8>() && stream_through<16>() && stream_through<64>() && stream_through<512>() &&
       stream_through<2048>() && settle_down<4>() && settle_down<16>() && settle_down<32>();
  ok = ok && cudaDeviceSynchronize() == cudaSuccess;
  std::puts(ok ? "kernel_times: ok" : "kernel_times: FAILED");
  return ok ? 0 : 1;
}
