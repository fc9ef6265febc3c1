// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution with a 5x5 filter. A thread computes work_x by work_y pixels; the block's input lies in shared memory,
// or does not.

#include "space.h"

constexpr int kRadius = 2, kFilter = 2 * kRadius + 1;

__global__ void convolution(const float* in, const float* filter, float* out, int size, int pitch, int work_x,
                            int work_y, int shared) {
  extern __shared__ float tile[];
  int wide = blockDim.x * work_x, high = blockDim.y * work_y, in_wide = wide + 2 * kRadius;
  int left = blockIdx.x * wide, top = blockIdx.y * high;
  if (shared) {
    for (int y = threadIdx.y; y < high + 2 * kRadius; y += blockDim.y)
      for (int x = threadIdx.x; x < in_wide; x += blockDim.x) tile[y * in_wide + x] = in[(top + y) * pitch + left + x];
    __syncthreads();
  }
  for (int wy = 0; wy < work_y; ++wy)
    for (int wx = 0; wx < work_x; ++wx) {
      int x = threadIdx.x + wx * blockDim.x, y = threadIdx.y + wy * blockDim.y;
      float sum = 0;
      for (int fy = 0; fy < kFilter; ++fy)
        for (int fx = 0; fx < kFilter; ++fx)
          sum += filter[fy * kFilter + fx] *
                 (shared ? tile[(y + fy) * in_wide + x + fx] : in[(top + y + fy) * pitch + left + x + fx]);
      if (left + x < size && top + y < size) out[(top + y) * size + left + x] = sum;
    }
}

int main() {
  const int size = 96, pitch = 2 * size + 2 * kRadius;  // the input has room for what blocks read beyond the image
  Random random(1);
  float* in = to_device(random.values(pitch * pitch, -1.0f, 1.0f));
  float* filter = to_device(random.values(kFilter * kFilter, -1.0f, 1.0f));
  float* out = device_array<float>(size * size);
  for_each_of({{8, 16, 32, 64}, {1, 2, 4, 8, 16}, {1, 2, 4}, {1, 2, 4}, {0, 1}}, [&](const std::vector<int>& p) {
    int block_x = p[0], block_y = p[1], work_x = p[2], work_y = p[3], shared = p[4];
    int bytes = (block_x * work_x + 2 * kRadius) * (block_y * work_y + 2 * kRadius) * sizeof(float);
    if (block_x * block_y < 32) return;
    check(hipMemset(out, 0, size * size * sizeof(float)));
    convolution<<<dim3(blocks_for(size, block_x * work_x), blocks_for(size, block_y * work_y)), dim3(block_x, block_y),
                  shared ? bytes : 0>>>(in, filter, out, size, pitch, work_x, work_y, shared);
    ignore_last_error();
  });
  check(hipDeviceSynchronize());
}
