// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How long mneme-capture holds an application up: what launches take that it records (--kernel change), in the same run
// as much copied to pinned memory. All is new to it at the first launch. At the last all has changed again, and the
// memory is there in which it keeps that: as pinned memory is for the copy.
//
// Before its first launch the application may do something else for some time, as those do that read their input: what
// mneme-capture keeps can be made ready meanwhile.
//
//   snapshots MEGABYTES [SECONDS]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

constexpr size_t kBlock = 64 << 10;

// Of each of the blocks, so that no two are alike and what is stored of them is little.
__global__ void fill(size_t* memory, size_t count) {
  size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  if (i < count) memory[i] = i * sizeof *memory / kBlock + 1;
}

// Of each `every`th block, the first word.
__global__ void change(size_t* memory, size_t blocks, size_t every, size_t by) {
  size_t block = (blockIdx.x * size_t{blockDim.x} + threadIdx.x) * every;
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
  auto launch = [&](size_t every, size_t by) {
    size_t blocks = bytes / kBlock;
    return seconds([&] { change<<<blocks / every / 256 + 1, 256>>>(memory, blocks, every, by); });
  };
  double seconds_before = argc > 2 ? std::strtod(argv[2], nullptr) : 0;
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds_before));
  double first = launch(100, 1), second = launch(100, 2), all = launch(1, 3);
  std::this_thread::sleep_for(std::chrono::seconds(1 + bytes / (size_t{3} << 30)));  // it is written meanwhile
  double again = launch(1, 4);
  ok = ok && cudaGetLastError() == cudaSuccess;
  std::printf(
      "%zu MiB, copied to pinned memory in %.4f s; launches, and what of the copy's rate: the first, %g s later, %.4f "
      "s, %.2f; "
      "1 %% changed %.4f s, %.3f of the first's; all changed %.4f s, %.2f; and again %.4f s, %.2f\n%s\n",
      bytes >> 20, plain, seconds_before, first, plain / first, second, second / first, all, plain / all, again,
      plain / again, ok ? "snapshots: ok" : "snapshots: FAILED");
  return ok ? 0 : 1;
}
