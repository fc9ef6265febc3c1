// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A matrix transposed through a shared tile whose rows are padded by one element, the usual remedy for bank conflicts.
// Each thread moves four elements.

#include "check.h"

constexpr int kTile = 32, kRows = 8;

__global__ void transpose(const double* in, double* out, int width, int height) {
  __shared__ double tile[kTile][kTile + 1];
  int x = blockIdx.x * kTile + threadIdx.x;
  int y = blockIdx.y * kTile + threadIdx.y;
  for (int i = 0; i < kTile; i += kRows)
    if (x < width && y + i < height) tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * width + x];
  __syncthreads();
  // The block at (bx, by) of the input becomes the block at (by, bx) of the output.
  x = blockIdx.y * kTile + threadIdx.x;
  y = blockIdx.x * kTile + threadIdx.y;
  for (int i = 0; i < kTile; i += kRows)
    if (x < height && y + i < width) out[(y + i) * height + x] = tile[threadIdx.x][threadIdx.y + i];
}

int main() {
  Test test("transpose");
  const int width = 300, height = 170;
  std::vector<double> in = Random(1).values(width * height, 1.0, 2.0);
  std::vector<double> want(in.size());
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) want[x * height + y] = in[y * width + x];

  double* device_in = to_device(in);
  double* device_out = device_array<double>(in.size());
  dim3 grid(blocks_for(width, kTile), blocks_for(height, kTile));
  transpose<<<grid, dim3(kTile, kRows)>>>(device_in, device_out, width, height);
  check(hipGetLastError());

  test.equal("out", to_host(device_out, in.size()), want);
  check(hipFree(device_in));
  check(hipFree(device_out));
  return test.finish();
}
