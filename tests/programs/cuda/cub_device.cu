// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CUB: reduce, scan and select over the whole device; in kernels of the program's own what blocks and warps do.
#include <algorithm>
#include <numeric>

#include "../check.h"
// After the runtime's header.
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <cub/warp/warp_reduce.cuh>

struct IsOdd {
  __host__ __device__ bool operator()(int x) const { return x % 2 != 0; }
};

// Calls a primitive twice, as CUB wants it: for the size of its memory, then to work.
template <class F>
void with_storage(F call) {
  std::size_t bytes = 0;
  check(call(nullptr, bytes));
  char* storage = device_array<char>(bytes);
  check(call(storage, bytes));
  check(hipDeviceSynchronize());
  check(hipFree(storage));
}

constexpr int kBlock = 128, kItems = 4;

__global__ void scan_blocks(const int* in, int* sums) {
  using Scan = cub::BlockScan<int, kBlock>;
  __shared__ typename Scan::TempStorage storage;
  int i = static_cast<int>(blockIdx.x) * kBlock + static_cast<int>(threadIdx.x), sum = 0;
  Scan(storage).InclusiveSum(in[i], sum);
  sums[i] = sum;
}

__global__ void sum_blocks(const int* in, int* blocks, int* warps) {
  using Reduce = cub::BlockReduce<int, kBlock>;
  using Warp = cub::WarpReduce<int>;
  __shared__ typename Reduce::TempStorage storage;
  __shared__ typename Warp::TempStorage warp_storage[kBlock / 32];
  int i = static_cast<int>(blockIdx.x) * kBlock + static_cast<int>(threadIdx.x);
  int sum = Reduce(storage).Sum(in[i]), of_warp = Warp(warp_storage[threadIdx.x / 32]).Sum(in[i]);
  if (threadIdx.x == 0) blocks[blockIdx.x] = sum;
  if (threadIdx.x % 32 == 0) warps[i / 32] = of_warp;
}

__global__ void sort_blocks(const int* in, int* out) {
  using Sort = cub::BlockRadixSort<int, kBlock, kItems>;
  __shared__ typename Sort::TempStorage storage;
  int first = static_cast<int>(blockIdx.x * kBlock + threadIdx.x) * kItems, items[kItems];
  for (int k = 0; k < kItems; ++k) items[k] = in[first + k];
  Sort(storage).Sort(items);
  for (int k = 0; k < kItems; ++k) out[first + k] = items[k];
}

int main() {
  Test test("cub_device");
  constexpr int kCount = 9000, kBlocks = 16;
  std::vector<int> in = Random(29).values(kCount, -500, 500), want(in.size());
  int *device_in = to_device(in), *out = device_array<int>(kCount), *count = device_array<int>(1);

  with_storage([&](void* storage, std::size_t& bytes) {
    return cub::DeviceReduce::Sum(storage, bytes, device_in, out, kCount);
  });
  test.equal("sum", to_host(out, 1)[0], std::accumulate(in.begin(), in.end(), 0));

  with_storage([&](void* storage, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(storage, bytes, device_in, out, kCount);
  });
  std::exclusive_scan(in.begin(), in.end(), want.begin(), 0);
  test.equal("prefix sums", to_host(out, kCount), want);

  check(hipMemset(out, 0, kCount * sizeof(int)));
  with_storage([&](void* storage, std::size_t& bytes) {
    return cub::DeviceSelect::If(storage, bytes, device_in, out, count, kCount, IsOdd());
  });
  want.resize(static_cast<std::size_t>(std::copy_if(in.begin(), in.end(), want.begin(), IsOdd()) - want.begin()));
  test.equal("how many are odd", to_host(count, 1)[0], static_cast<int>(want.size()));
  test.equal("the odd ones", to_host(out, want.size()), want);

  scan_blocks<<<kBlocks, kBlock>>>(device_in, out);
  want.assign(in.begin(), in.begin() + kBlocks * kBlock);
  for (int b = 0; b < kBlocks; ++b)
    std::partial_sum(in.begin() + b * kBlock, in.begin() + (b + 1) * kBlock, want.begin() + b * kBlock);
  test.equal("prefix sums of blocks", to_host(out, want.size()), want);

  int* warps = device_array<int>(kBlocks * kBlock / 32);
  sum_blocks<<<kBlocks, kBlock>>>(device_in, out, warps);
  auto sums = [&](int size) {
    std::vector<int> result;
    for (int first = 0; first < kBlocks * kBlock; first += size)
      result.push_back(std::accumulate(in.begin() + first, in.begin() + first + size, 0));
    return result;
  };
  test.equal("sums of blocks", to_host(out, kBlocks), sums(kBlock));
  test.equal("sums of warps", to_host(warps, kBlocks * kBlock / 32), sums(32));

  sort_blocks<<<kBlocks, kBlock>>>(device_in, out);
  want.assign(in.begin(), in.begin() + kBlocks * kBlock * kItems);
  for (auto at = want.begin(); at != want.end(); at += kBlock * kItems) std::sort(at, at + kBlock * kItems);
  test.equal("blocks sorted", to_host(out, want.size()), want);
  for (int* memory : {device_in, out, count, warps}) check(hipFree(memory));
  return test.finish();
}
