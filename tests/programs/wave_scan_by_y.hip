// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prefix sums of waves in dynamic shared memory, with no barrier between the steps, by threads that are numbered along
// x, along y, along z, and row by row. Lanes that run in step make it work.
#include "check.h"

enum class Numbered { kByX, kByY, kByZ, kByRows };

template <Numbered kHow>
__device__ unsigned thread_number() {
  if (kHow == Numbered::kByX) return threadIdx.x;
  if (kHow == Numbered::kByY) return threadIdx.y;
  if (kHow == Numbered::kByZ) return threadIdx.z;
  return threadIdx.y * blockDim.x + threadIdx.x;
}

template <Numbered kHow>
__global__ void prefix_sums(const int* in, int* out, unsigned width) {
  extern __shared__ int sums[];
  unsigned id = thread_number<kHow>(), lane = id % width;
  sums[id] = in[id];
  __syncthreads();
  for (unsigned reach = 1; reach < width; reach *= 2) {
    if (lane >= reach) sums[id] += sums[id - reach];
  }
  __syncthreads();
  out[id] = sums[id];
}

template <Numbered kHow>
void check_sums(Test& test, const char* what, dim3 block, unsigned width) {
  unsigned count = block.x * block.y * block.z;
  std::vector<int> in = Random(count).values(count, -1000, 1000), want = in;
  int *device_in = to_device(in), *device_out = device_array<int>(count);
  prefix_sums<kHow><<<1, block, count * sizeof(int)>>>(device_in, device_out, width);
  for (unsigned i = 1; i < count; ++i) want[i] += i % width ? want[i - 1] : 0;
  test.equal(what, to_host(device_out, count), want);
  check(hipFree(device_in));
  check(hipFree(device_out));
}

int main() {
  Test test("wave_scan_by_y");
  hipDeviceProp_t properties;
  check(hipGetDeviceProperties(&properties, 0));
  // Half a wave of 64 is in step, too.
  for (unsigned width = 32; width <= static_cast<unsigned>(properties.warpSize); width *= 2) {
    for (unsigned count : {64u, 128u, 256u}) {
      check_sums<Numbered::kByX>(test, "by x", dim3(count), width);
      check_sums<Numbered::kByY>(test, "by y", dim3(1, count), width);
      check_sums<Numbered::kByRows>(test, "by rows of 8", dim3(8, count / 8), width);
      check_sums<Numbered::kByRows>(test, "by rows of 64", dim3(64, count / 64), width);
    }
    check_sums<Numbered::kByZ>(test, "by z", dim3(1, 1, 64), width);
  }
  return test.finish();
}
