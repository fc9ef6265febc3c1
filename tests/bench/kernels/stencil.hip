// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A five-point stencil on SIZE by SIZE floats (default 4096: 64 MiB an array); the edge is left alone.

#include "../../programs/check.h"
#include "bench.h"

__global__ void stencil(const float* in, float* out, int n) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
  int i = y * n + x;
  out[i] = 0.5f * in[i] + 0.125f * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n]);
}

int main(int argc, char** argv) {
  const auto [size, repeats] = parse_arguments(argc, argv, 4096);
  const int n = static_cast<int>(size);
  std::vector<float> in(size * size);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = value_at(i);
  float* device_in = to_device(in);
  float* device_out = to_device(in);

  const dim3 block(64, 4);
  const dim3 grid(blocks_for(size, block.x), blocks_for(size, block.y));
  long long best = best_of(repeats, [&] {
    stencil<<<grid, block>>>(device_in, device_out, n);
    check(hipGetLastError());
    check(hipDeviceSynchronize());
  });

  std::vector<float> out = to_host(device_out, in.size());
  bool right = out[0] == in[0];
  for (int y = 1; y < n - 1; ++y)
    for (int x = 1; x < n - 1; ++x) {
      int i = y * n + x;
      right &= is_close(out[i], 0.5 * in[i] + 0.125 * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n]));
    }
  check(hipFree(device_in));
  check(hipFree(device_out));
  return report("stencil", best, right);
}
