// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls whose target is data: a table of function pointers, and objects with virtual functions that one kernel builds
// in device memory and another uses. The addresses of code end up in memory.

#include <new>

#include "check.h"

using Operation = float (*)(float, float);
__device__ float add(float a, float b) { return a + b; }
__device__ float subtract(float a, float b) { return a - b; }
__device__ float larger(float a, float b) { return a > b ? a : b; }
__device__ Operation operations[] = {add, subtract, larger};

struct Shape {
  __device__ virtual float area() const = 0;
};
struct Square : Shape {
  __device__ explicit Square(float side) : side(side) {}
  __device__ float area() const override { return side * side; }
  float side;
};
namespace {
struct Box : Shape {
  __device__ Box(float width, float height) : width(width), height(height) {}
  __device__ float area() const override { return width * height; }
  float width, height;
};
}  // namespace

struct alignas(16) Storage {
  unsigned char bytes[32];
};
static_assert(sizeof(Box) <= sizeof(Storage) && sizeof(Square) <= sizeof(Storage));

__global__ void build(const float* sizes, Storage* storage, Shape** shapes, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i % 3 == 0)
    shapes[i] = new (&storage[i]) Box(sizes[i], 2);
  else
    shapes[i] = new (&storage[i]) Square(sizes[i]);
}

__global__ void evaluate(Shape* const* shapes, const float* sizes, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = operations[i % 7 % 3](shapes[i]->area(), sizes[i]);
}

int main() {
  Test test("indirect_calls");
  const int n = 3000;
  std::vector<float> sizes = Random(1).values(n, 0.5f, 4.0f);
  std::vector<float> want(n);
  for (int i = 0; i < n; ++i) {
    float area = i % 3 == 0 ? sizes[i] * 2 : sizes[i] * sizes[i];
    const float results[] = {area + sizes[i], area - sizes[i], std::fmax(area, sizes[i])};
    want[i] = results[i % 7 % 3];
  }

  float* device_sizes = to_device(sizes);
  Storage* storage = to_device(std::vector<Storage>(n));
  Shape** shapes = device_array<Shape*>(n);
  float* out = device_array<float>(n);
  build<<<blocks_for(n, 64), 64>>>(device_sizes, storage, shapes, n);
  check(hipGetLastError());
  evaluate<<<blocks_for(n, 64), 64>>>(shapes, device_sizes, out, n);
  check(hipGetLastError());

  test.close("out", to_host(out, n), want, 1e-5);
  check(hipFree(device_sizes));
  check(hipFree(storage));
  check(hipFree(shapes));
  check(hipFree(out));
  return test.finish();
}
