// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// new, new[], delete and delete[] in kernels, of objects with constructors, destructors and virtual functions, which
// one kernel makes and others use and destroy.

#include "check.h"

__device__ int destroyed[3];

struct Shape {
  __device__ virtual ~Shape() { atomicAdd(&destroyed[0], 1); }
  __device__ virtual int area() const = 0;
};
struct Square : Shape {
  __device__ explicit Square(int side) : side(side) {}
  __device__ ~Square() override { atomicAdd(&destroyed[1], side); }
  __device__ int area() const override { return side * side; }
  int side;
};
struct Stack : Shape {
  __device__ explicit Stack(int count) : shapes(new Shape*[count]), count(count) {
    for (int i = 0; i < count; ++i) shapes[i] = new Square(i + 1);
  }
  __device__ ~Stack() override {
    for (int i = 0; i < count; ++i) delete shapes[i];
    delete[] shapes;
    atomicAdd(&destroyed[2], 1);
  }
  __device__ int area() const override {
    int total = 0;
    for (int i = 0; i < count; ++i) total += shapes[i]->area();
    return total;
  }
  Shape** shapes;
  int count;
};

__global__ void make(Shape** shapes, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i % 3 == 0) {
    shapes[i] = new Stack(i % 5);
  } else {
    shapes[i] = new Square(i);
  }
}

__global__ void measure(Shape* const* shapes, int* areas, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) areas[i] = shapes[i]->area();
}

__global__ void destroy(Shape** shapes, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) delete shapes[i];
}

int main() {
  Test test("device_new");
  const int n = 200;
  Shape** shapes = device_array<Shape*>(n);
  int* areas = device_array<int>(n);
  std::vector<int> want(n), gone(3);
  for (int i = 0; i < n; ++i) {
    ++gone[0];
    if (i % 3) {
      want[i] = i * i;
      gone[1] += i;
      continue;
    }
    for (int k = 1; k <= i % 5; ++k) {
      want[i] += k * k;
      ++gone[0];
      gone[1] += k;
    }
    ++gone[2];
  }
  make<<<blocks_for(n, 64), 64>>>(shapes, n);
  check(hipGetLastError());
  measure<<<blocks_for(n, 64), 64>>>(shapes, areas, n);
  test.equal("areas", to_host(areas, n), want);
  destroy<<<blocks_for(n, 64), 64>>>(shapes, n);
  check(hipGetLastError());
  std::vector<int> counted(3);
  check(hipMemcpyFromSymbol(counted.data(), HIP_SYMBOL(destroyed), 3 * sizeof(int)));
  test.equal("destroyed", counted, gone);
  check(hipFree(shapes));
  check(hipFree(areas));
  return test.finish();
}
