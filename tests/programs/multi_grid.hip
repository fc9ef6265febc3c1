// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cooperative launch on a list of devices, with one in it: the grids as one group, and what every kind of group says
// of itself.

#include "check.h"

#include <hip/hip_cooperative_groups.h>  // needs what hip_runtime.h defines

namespace cg = cooperative_groups;

constexpr int kBlocks = 3, kThreads = 80, kAnswers = 8;

__global__ void describe(unsigned* out, unsigned* left) {
  cg::multi_grid_group all = cg::this_multi_grid();
  cg::grid_group grid = cg::this_grid();
  cg::thread_block block = cg::this_thread_block();
  cg::thread_group any = grid;
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned answers[kAnswers] = {
      all.num_grids(),
      all.grid_rank(),
      all.thread_rank(),
      all.size(),
      all.is_valid() + 2u * grid.is_valid() + 4u * block.is_valid() + 8u * any.is_valid(),
      block.thread_index().x + 100 * block.group_index().x,
      any.size(),
      cg::group_size(block) + (any.cg_type() == grid.cg_type())};
  for (int f = 0; f < kAnswers; ++f) out[i * kAnswers + f] = answers[f];
  left[i] = i;
  all.sync();
  out[i * kAnswers] += left[all.size() - 1 - i];  // another block's
}

int main() {
  Test test("multi_grid");
  constexpr unsigned n = kBlocks * kThreads;
  unsigned *out = device_array<unsigned>(n * kAnswers), *left = device_array<unsigned>(n);
  void* arguments[] = {&out, &left};
  hipLaunchParams launch = {};
  launch.func = reinterpret_cast<void*>(describe);
  launch.gridDim = dim3(kBlocks);
  launch.blockDim = dim3(kThreads);
  launch.args = arguments;
  check(hipStreamCreate(&launch.stream));
  check(hipLaunchCooperativeKernelMultiDevice(&launch, 1, 0));
  check(hipStreamSynchronize(launch.stream));
  std::vector<unsigned> want;
  for (unsigned i = 0; i < n; ++i) {
    want.insert(want.end(), {1 + n - 1 - i, 0, i, n, 15, i % kThreads + 100 * (i / kThreads), n, kThreads + 1});
  }
  test.equal("answers", to_host(out, want.size()), want);
  return test.finish();
}
