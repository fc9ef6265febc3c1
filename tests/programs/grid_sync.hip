// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A grid that meets as a whole between its steps: each block reads what others wrote in the step before. Shared memory
// and registers stay as they are meanwhile.

#include <algorithm>

#include "check.h"

#include <hip/hip_cooperative_groups.h>  // needs what hip_runtime.h defines

namespace cg = cooperative_groups;

constexpr int kBlock = 96;

__global__ void diffuse(int* cells, int* next, int count, int steps, int* sums) {
  __shared__ int sum;
  cg::grid_group grid = cg::this_grid();
  if (threadIdx.x == 0) sum = 0;
  for (int step = 0; step < steps; ++step) {
    for (int i = grid.thread_rank(); i < count; i += grid.size()) {
      next[i] = (cells[(i + count - 1) % count] + 2 * cells[i] + cells[(i + 1) % count]) / 4 + blockIdx.x % 2;
    }
    grid.sync();
    if (threadIdx.x == 0) sum += next[(blockIdx.x * 7 + step) % count];
    int* other = cells;
    cells = next;
    next = other;
    grid.sync();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// One way to reduce in one launch: every block's part, then the first block's sum of them.
__global__ void total(const int* data, int count, long long* parts) {
  __shared__ long long tile[kBlock];
  cg::thread_block block = cg::this_thread_block();
  cg::grid_group grid = cg::this_grid();
  long long mine = 0;
  for (int i = grid.thread_rank(); i < count; i += grid.size()) mine += data[i];
  tile[block.thread_rank()] = mine;
  block.sync();
  for (int t = 1; t < kBlock && threadIdx.x == 0; ++t) tile[0] += tile[t];
  if (threadIdx.x == 0) parts[blockIdx.x] = tile[0];
  grid.sync();
  if (grid.thread_rank() == 0) {
    for (unsigned b = 1; b < gridDim.x; ++b) parts[0] += parts[b];
  }
}

int main() {
  Test test("grid_sync");
  int device = 0, cooperative = 0, per_processor = 0;
  check(hipDeviceGetAttribute(&cooperative, hipDeviceAttributeCooperativeLaunch, device));
  test.expect(cooperative != 0, "the device has no cooperative launches");
  hipDeviceProp_t properties;
  check(hipGetDeviceProperties(&properties, device));
  check(hipOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, diffuse, kBlock, 0));
  int blocks = std::min(per_processor * properties.multiProcessorCount, 40);
  test.expect(blocks > 0, "no block fits the device");

  int count = 5000, steps = 7;
  std::vector<int> cells = Random(1).values(count, 0, 100000), next(count), sums(blocks);
  int* device_cells = to_device(cells);
  int* device_next = device_array<int>(count);
  int* device_sums = device_array<int>(blocks);
  void* arguments[] = {&device_cells, &device_next, &count, &steps, &device_sums};
  check(
      hipLaunchCooperativeKernel(reinterpret_cast<void*>(diffuse), dim3(blocks), dim3(kBlock), arguments, 0, nullptr));
  for (int step = 0; step < steps; ++step) {
    for (int i = 0; i < count; ++i) {
      int block = i % (blocks * kBlock) / kBlock;
      next[i] = (cells[(i + count - 1) % count] + 2 * cells[i] + cells[(i + 1) % count]) / 4 + block % 2;
    }
    for (int block = 0; block < blocks; ++block) sums[block] += next[(block * 7 + step) % count];
    cells.swap(next);
  }
  test.equal("cells", to_host(steps % 2 ? device_next : device_cells, count), cells);
  test.equal("sums", to_host(device_sums, blocks), sums);

  long long* device_parts = device_array<long long>(blocks);
  int* device_data = to_device(cells);
  void* total_arguments[] = {&device_data, &count, &device_parts};
  check(hipLaunchCooperativeKernel(reinterpret_cast<void*>(total), dim3(blocks), dim3(kBlock), total_arguments, 0,
                                   nullptr));
  long long sum = 0;
  for (int cell : cells) sum += cell;
  test.equal("total", to_host(device_parts, 1), std::vector<long long>{sum});

  dim3 too_many(per_processor * properties.multiProcessorCount + 1);
  test.equal(
      "more blocks than the device holds",
      hipLaunchCooperativeKernel(reinterpret_cast<void*>(diffuse), too_many, dim3(kBlock), arguments, 0, nullptr),
      hipErrorCooperativeLaunchTooLarge);
  (void)hipGetLastError();

  check(hipFree(device_cells));
  check(hipFree(device_next));
  check(hipFree(device_sums));
  check(hipFree(device_parts));
  check(hipFree(device_data));
  return test.finish();
}
