// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads that meet inside of virtual functions, of objects built on the device, and inside of functions called through
// pointers.

#include <algorithm>
#include <new>

#include "check.h"

constexpr int kBlock = 64;

struct Step {
  __device__ virtual void apply(int* tile) const = 0;
};

struct Rotate : Step {
  __device__ explicit Rotate(int by_) : by(by_) {}
  __device__ void apply(int* tile) const override {
    int value = tile[(threadIdx.x + by) % kBlock];
    __syncthreads();
    tile[threadIdx.x] = value;
    __syncthreads();
  }
  int by;
};

struct Prefix : Step {
  __device__ void apply(int* tile) const override {
    for (int distance = 1; distance < kBlock; distance *= 2) {
      int value = static_cast<int>(threadIdx.x) >= distance ? tile[threadIdx.x - distance] : 0;
      __syncthreads();
      tile[threadIdx.x] += value;
      __syncthreads();
    }
  }
};

// Applies its parts one after the other.
struct Both : Step {
  __device__ Both(const Step* first_, const Step* second_) : first(first_), second(second_) {}
  __device__ void apply(int* tile) const override {
    first->apply(tile);
    second->apply(tile);
  }
  const Step *first, *second;
};

constexpr int kSteps = 4;

__global__ void build(Step** steps, char* room) {
  steps[0] = new (room) Rotate(3);
  steps[1] = new (room + 64) Prefix();
  steps[2] = new (room + 128) Both(steps[0], steps[1]);
  steps[3] = new (room + 192) Both(steps[1], steps[2]);
}

__global__ void apply_steps(Step* const* steps, int* data) {
  __shared__ int tile[kBlock];
  int i = blockIdx.x * kBlock + threadIdx.x;
  tile[threadIdx.x] = data[i];
  __syncthreads();
  steps[blockIdx.x % kSteps]->apply(tile);
  data[i] = tile[threadIdx.x];
}

__device__ int largest(int* tile) {
  for (int half = kBlock / 2; half > 0; half /= 2) {
    if (static_cast<int>(threadIdx.x) < half) tile[threadIdx.x] = max(tile[threadIdx.x], tile[threadIdx.x + half]);
    __syncthreads();
  }
  return tile[0];
}

__device__ int number_of_odd(int* tile) { return __syncthreads_count(tile[threadIdx.x] % 2 != 0); }

using Summary = int (*)(int*);
__device__ Summary summaries[] = {largest, number_of_odd};

__global__ void summarise(const int* data, int* out) {
  __shared__ int tile[kBlock];
  tile[threadIdx.x] = data[blockIdx.x * kBlock + threadIdx.x];
  __syncthreads();
  int result = summaries[blockIdx.x % 2](tile);
  if (threadIdx.x == kBlock - 1) out[blockIdx.x] = result;
}

static void rotate(int* tile) {
  std::vector<int> before(tile, tile + kBlock);
  for (int i = 0; i < kBlock; ++i) tile[i] = before[(i + 3) % kBlock];
}

static void prefix(int* tile) {
  for (int i = 1; i < kBlock; ++i) tile[i] += tile[i - 1];
}

int main() {
  Test test("barrier_in_virtual");
  const int blocks = 10, count = blocks * kBlock;
  std::vector<int> data = Random(1).values(count, 0, 1000);
  int* device_data = to_device(data);
  Step** steps = device_array<Step*>(kSteps);
  char* room = device_array<char>(256);
  build<<<1, 1>>>(steps, room);
  check(hipGetLastError());
  apply_steps<<<blocks, kBlock>>>(steps, device_data);
  check(hipGetLastError());
  for (int block = 0; block < blocks; ++block) {
    int* tile = data.data() + block * kBlock;
    int kind = block % kSteps;
    if (kind == 1 || kind == 3) prefix(tile);
    if (kind != 1) rotate(tile);
    if (kind >= 2) prefix(tile);
  }
  test.equal("data", to_host(device_data, count), data);

  int* device_out = device_array<int>(blocks);
  summarise<<<blocks, kBlock>>>(device_data, device_out);
  check(hipGetLastError());
  std::vector<int> out(blocks);
  for (int i = 0; i < count; ++i) {
    int& result = out[i / kBlock];
    result = i / kBlock % 2 == 0 ? (i % kBlock ? std::max(result, data[i]) : data[i]) : result + (data[i] % 2 != 0);
  }
  test.equal("out", to_host(device_out, blocks), out);

  check(hipFree(device_data));
  check(hipFree(device_out));
  check(hipFree(steps));
  check(hipFree(room));
  return test.finish();
}
