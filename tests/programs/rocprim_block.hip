// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rocPRIM's primitives of a wave and of a block: reduce, scan, sort, exchange, histogram, discontinuity.
#include <algorithm>
#include <numeric>

#include "check.h"
// After the runtime's header.
#include <rocprim/block/block_discontinuity.hpp>
#include <rocprim/block/block_exchange.hpp>
#include <rocprim/block/block_radix_sort.hpp>
#include <rocprim/block/block_reduce.hpp>
#include <rocprim/block/block_scan.hpp>
#include <rocprim/warp/warp_reduce.hpp>
#include <rocprim/warp/warp_scan.hpp>

constexpr unsigned kThreads = 128, kItems = 2, kBlocks = 2, kAll = kThreads * kBlocks;

__global__ void reduce_and_scan(const int* in, int* sums, int* scans, int* warp_sums, int* warp_scans) {
  using Reduce = rocprim::block_reduce<int, kThreads>;
  using Scan = rocprim::block_scan<int, kThreads>;
  using WarpReduce = rocprim::warp_reduce<int, 32>;
  using WarpScan = rocprim::warp_scan<int, 16>;
  __shared__ typename Reduce::storage_type reduce_storage;
  __shared__ typename Scan::storage_type scan_storage;
  __shared__ typename WarpReduce::storage_type warp_storage[kThreads / 32];
  __shared__ typename WarpScan::storage_type warp_scan_storage[kThreads / 16];
  unsigned i = blockIdx.x * kThreads + threadIdx.x;
  int value = in[i], result = 0;
  Reduce().reduce(value, result, reduce_storage);
  if (threadIdx.x == 0) sums[blockIdx.x] = result;
  Scan().inclusive_scan(value, result, scan_storage);
  scans[i] = result;
  WarpReduce().reduce(value, result, warp_storage[threadIdx.x / 32], rocprim::maximum<int>());
  if (threadIdx.x % 32 == 0) warp_sums[i / 32] = result;
  WarpScan().exclusive_scan(value, result, 100, warp_scan_storage[threadIdx.x / 16]);
  warp_scans[i] = result;
}

__global__ void sort(const unsigned* in, unsigned* out, unsigned* striped, unsigned* heads) {
  using Sort = rocprim::block_radix_sort<unsigned, kThreads, kItems>;
  using Exchange = rocprim::block_exchange<unsigned, kThreads, kItems>;
  using Discontinuity = rocprim::block_discontinuity<unsigned, kThreads>;
  __shared__ union {
    typename Sort::storage_type sort;
    typename Exchange::storage_type exchange;
    typename Discontinuity::storage_type discontinuity;
  } storage;
  unsigned values[kItems], flags[kItems];
  for (unsigned k = 0; k < kItems; ++k) values[k] = in[kItems * threadIdx.x + k];
  Sort().sort(values, storage.sort);
  for (unsigned k = 0; k < kItems; ++k) out[kItems * threadIdx.x + k] = values[k];
  __syncthreads();
  Discontinuity().flag_heads(flags, values, rocprim::not_equal_to<unsigned>(), storage.discontinuity);
  for (unsigned k = 0; k < kItems; ++k) heads[kItems * threadIdx.x + k] = flags[k];
  __syncthreads();
  Exchange().blocked_to_striped(values, values, storage.exchange);
  for (unsigned k = 0; k < kItems; ++k) striped[kItems * threadIdx.x + k] = values[k];
}

int main() {
  Test test("rocprim_block");
  std::vector<int> in = Random(12).values(kAll, -100, 100);
  int *device_in = to_device(in), *sums = device_array<int>(kBlocks), *scans = device_array<int>(kAll);
  int *warp_sums = device_array<int>(kAll / 32), *warp_scans = device_array<int>(kAll);
  reduce_and_scan<<<kBlocks, kThreads>>>(device_in, sums, scans, warp_sums, warp_scans);
  std::vector<int> want_sums(kBlocks), want_scans(kAll), want_warp_sums(kAll / 32, -1000), want_warp_scans(kAll);
  for (unsigned i = 0; i < kAll; ++i) {
    want_sums[i / kThreads] += in[i];
    want_scans[i] = in[i] + (i % kThreads ? want_scans[i - 1] : 0);
    want_warp_sums[i / 32] = std::max(want_warp_sums[i / 32], in[i]);
    want_warp_scans[i] = i % 16 ? want_warp_scans[i - 1] + in[i - 1] : 100;
  }
  test.equal("block sums", to_host(sums, kBlocks), want_sums);
  test.equal("block scans", to_host(scans, kAll), want_scans);
  test.equal("wave maxima", to_host(warp_sums, kAll / 32), want_warp_sums);
  test.equal("wave scans", to_host(warp_scans, kAll), want_warp_scans);

  std::vector<unsigned> keys(kThreads * kItems);
  Random random(4);
  for (unsigned& key : keys) key = static_cast<unsigned>(random.bits() >> (random.below(2) ? 40 : 57));
  unsigned* device_keys = to_device(keys);
  unsigned *sorted = device_array<unsigned>(keys.size()), *striped = device_array<unsigned>(keys.size()),
           *heads = device_array<unsigned>(keys.size());
  sort<<<1, kThreads>>>(device_keys, sorted, striped, heads);
  std::sort(keys.begin(), keys.end());
  std::vector<unsigned> want_striped(keys.size()), want_heads(keys.size());
  for (unsigned i = 0; i < keys.size(); ++i) {
    want_heads[i] = i == 0 || keys[i] != keys[i - 1];
    want_striped[i / kThreads + kItems * (i % kThreads)] = keys[i];
  }
  test.equal("sorted", to_host(sorted, keys.size()), keys);
  test.equal("heads", to_host(heads, keys.size()), want_heads);
  test.equal("striped", to_host(striped, keys.size()), want_striped);
  for (void* memory : {static_cast<void*>(device_in), static_cast<void*>(sums), static_cast<void*>(scans),
                       static_cast<void*>(warp_sums), static_cast<void*>(warp_scans), static_cast<void*>(device_keys),
                       static_cast<void*>(sorted), static_cast<void*>(striped), static_cast<void*>(heads)}) {
    check(hipFree(memory));
  }
  return test.finish();
}
