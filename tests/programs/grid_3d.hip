// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three-dimensional grids of three-dimensional blocks of odd sizes; every index and size a kernel can ask for ends up
// in the result.

#include "check.h"

__host__ __device__ inline unsigned mix(unsigned a, unsigned b) { return (a ^ b) * 0x9e3779b1u + (a >> 7); }

__host__ __device__ inline unsigned describe(dim3 thread, dim3 block, dim3 block_size, dim3 grid_size) {
  unsigned value = 1;
  for (dim3 d : {thread, block, block_size, grid_size}) value = mix(mix(mix(value, d.x), d.y), d.z);
  return value;
}

__global__ void grid_3d(unsigned* volume, int width, int height, int depth) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= width || y >= height || z >= depth) return;
  dim3 thread(threadIdx.x, threadIdx.y, threadIdx.z), block(blockIdx.x, blockIdx.y, blockIdx.z);
  volume[(z * height + y) * width + x] +=
      describe(thread, block, dim3(blockDim.x, blockDim.y, blockDim.z), dim3(gridDim.x, gridDim.y, gridDim.z));
}

int main() {
  Test test("grid_3d");
  const int width = 61, height = 43, depth = 29, count = width * height * depth;
  std::vector<unsigned> want = Random(1).values(count, 1u, 1000u);
  unsigned* volume = to_device(want);

  for (dim3 block : {dim3(7, 5, 3), dim3(1, 1, 11), dim3(64, 1, 1), dim3(3, 64, 2)}) {
    dim3 grid(blocks_for(width, block.x), blocks_for(height, block.y), blocks_for(depth, block.z));
    grid_3d<<<grid, block>>>(volume, width, height, depth);
    check(hipGetLastError());
    for (unsigned z = 0; z < depth; ++z)
      for (unsigned y = 0; y < height; ++y)
        for (unsigned x = 0; x < width; ++x)
          want[(z * height + y) * width + x] += describe(dim3(x % block.x, y % block.y, z % block.z),
                                                         dim3(x / block.x, y / block.y, z / block.z), block, grid);
  }
  test.equal("volume", to_host(volume, count), want);
  check(hipFree(volume));
  return test.finish();
}
