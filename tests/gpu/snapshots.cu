// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How long mneme-capture holds an application up: what launches take that it records (--kernel change), the first with
// all of the memory new to it and one hundredth of it changed, the second with as much changed; in the same run, as
// much copied to pinned memory.
//
//   snapshots MEGABYTES
#include <chrono>
#include <cstdio>
#include <cstdlib>

constexpr size_t kBlock = 64 << 10;

// Of each of the blocks, so that no two are alike and what is stored of them is little.
__global__ void fill(size_t* memory, size_t count) {
  size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  if (i < count) memory[i] = i * sizeof *memory / kBlock + 1;
}

__global__ void change(size_t* memory, size_t blocks, size_t by) {
  size_t block = (blockIdx.x * size_t{blockDim.x} + threadIdx.x) * 100;
  if (block < blocks) memory[block * kBlock / sizeof *memory] += by;
}

template <class Work>
double seconds(const Work& work) {
  auto begin = std::chrono::steady_clock::now();
  work();
  cudaDeviceSynchronize();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

int main(int argc, char** argv) {
  constexpr size_t kPinned = size_t{256} << 20;
  size_t bytes = (argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1) << 20, count = bytes / sizeof(size_t);
  size_t *memory = nullptr, *pinned = nullptr;
  bool ok = cudaMalloc(&memory, bytes) == cudaSuccess && cudaMallocHost(&pinned, kPinned) == cudaSuccess;
  fill<<<(count + 255) / 256, 256>>>(memory, count);
  ok = ok && cudaDeviceSynchronize() == cudaSuccess;
  double plain = seconds([&] {
    for (size_t at = 0; at < bytes; at += kPinned) {
      size_t size = bytes - at < kPinned ? bytes - at : kPinned;
      cudaMemcpyAsync(pinned, memory + at / sizeof(size_t), size, cudaMemcpyDeviceToHost);
    }
  });
  cudaFreeHost(pinned);
  size_t blocks = bytes / kBlock;
  unsigned grid = static_cast<unsigned>((blocks / 100 + 256) / 256);
  double first = seconds([&] { change<<<grid, 256>>>(memory, blocks, 1); });
  double second = seconds([&] { change<<<grid, 256>>>(memory, blocks, 2); });
  ok = ok && cudaGetLastError() == cudaSuccess;
  std::printf(
      "%zu MiB: copied to pinned memory in %.4f s; the first launch %.4f s, %.2f of that copy's rate; the second, "
      "1 %% changed, %.4f s, %.2f of the first's\n%s\n",
      bytes >> 20, plain, first, plain / first, second, second / first, ok ? "snapshots: ok" : "snapshots: FAILED");
  return ok ? 0 : 1;
}
