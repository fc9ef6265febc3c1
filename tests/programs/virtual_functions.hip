// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Virtual functions: several bases, objects that hold others (calls that come back to themselves), functions with
// barriers and shared memory inside, objects in shared memory and on a thread's stack, a global object.

#include <new>

#include "check.h"

struct Value {
  __device__ virtual int get(int x) const = 0;
};
struct Named {
  __device__ virtual int name() const { return 1; }
};
struct Constant : Value {
  __device__ explicit Constant(int c) : c(c) {}
  __device__ int get(int) const override { return c; }
  int c;
};
struct Input : Value, Named {
  __device__ int get(int x) const override { return x + name(); }
  __device__ int name() const override { return 7; }
};
struct Sum : Named, Value {
  __device__ Sum(const Value* a, const Value* b) : a(a), b(b) {}
  __device__ int get(int x) const override { return a->get(x) + b->get(x + 1); }
  const Value *a, *b;
};
struct Twice final : Sum {
  __device__ explicit Twice(const Value* a) : Sum(a, a) {}
  __device__ int name() const override { return Sum::name() + 20; }
};

struct Tree {
  alignas(16) unsigned char room[6][48];
  const Value* root;
  const Named* name;
};

__global__ void plant(Tree* tree) {
  auto* input = new (tree->room[0]) Input;
  auto* three = new (tree->room[1]) Constant(3);
  auto* sum = new (tree->room[2]) Sum(input, three);
  auto* both = new (tree->room[3]) Sum(sum, input);
  auto* twice = new (tree->room[4]) Twice(both);
  tree->root = twice;
  tree->name = twice;
}

__global__ void climb(const Tree* tree, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tree->root->get(i) * 100 + tree->name->name();
}

// Work for all threads of a block, with barriers inside.
struct Step {
  __device__ virtual void run(int* tile) const = 0;
};
struct Reverse : Step {
  __device__ void run(int* tile) const override {
    int value = tile[blockDim.x - 1 - threadIdx.x];
    __syncthreads();
    tile[threadIdx.x] = value;
    __syncthreads();
  }
};
struct Rotate : Step {
  __device__ explicit Rotate(int by) : by(by) {}
  __device__ void run(int* tile) const override {
    int value = tile[(threadIdx.x + by) % blockDim.x];
    __syncthreads();
    tile[threadIdx.x] = value + by;
    __syncthreads();
  }
  int by;
};

__global__ void steps(int* data) {
  __shared__ int tile[64];
  Reverse reverse;
  Rotate rotate(blockIdx.x % 2 ? 5 : 3);
  const Step* chosen[2] = {&reverse, &rotate};
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = data[i];
  __syncthreads();
  for (unsigned k = 0; k < 4; ++k) chosen[(blockIdx.x + k) % 2]->run(tile);
  data[i] = tile[threadIdx.x];
}

int main() {
  Test test("virtual_functions");
  const int n = 640;
  Tree* tree = to_device(std::vector<Tree>(1, Tree{}));
  int* out = device_array<int>(n);
  plant<<<1, 1>>>(tree);
  check(hipGetLastError());
  climb<<<blocks_for(n, 64), 64>>>(tree, out, n);
  check(hipGetLastError());
  std::vector<int> want(n);
  auto both = [](int x) { return (x + 7) + 3 + (x + 1 + 7); };  // sum(x) + input(x + 1)
  for (int i = 0; i < n; ++i) want[i] = (both(i) + both(i + 1)) * 100 + 21;
  test.equal("out", to_host(out, n), want);

  std::vector<int> data(n), stepped(n);
  for (int i = 0; i < n; ++i) data[i] = i * 3;
  for (int block = 0; block < n / 64; ++block) {
    std::vector<int> tile(data.begin() + block * 64, data.begin() + block * 64 + 64);
    for (int k = 0; k < 4; ++k) {
      std::vector<int> before = tile;
      int by = block % 2 ? 5 : 3;
      for (int i = 0; i < 64; ++i) tile[i] = (block + k) % 2 ? before[(i + by) % 64] + by : before[63 - i];
    }
    std::copy(tile.begin(), tile.end(), stepped.begin() + block * 64);
  }
  int* device_data = to_device(data);
  steps<<<n / 64, 64>>>(device_data);
  test.equal("stepped", to_host(device_data, n), stepped);
  check(hipFree(tree));
  check(hipFree(out));
  check(hipFree(device_data));
  return test.finish();
}
