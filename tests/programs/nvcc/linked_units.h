// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "../check.h"

using Operation = int (*)(int);

struct Shape {
  int size;
  __device__ explicit Shape(int size) : size(size) {}
  __device__ virtual int area() const;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  __device__ explicit Square(int size) : Shape(size) {}
  __device__ int area() const override;
};
// In memory of the caller's: the vendor's heap of a GPU is out of a recorder's reach.
__device__ Shape* make_shape(bool square, int size, void* room);
__device__ int apply(int x, Operation operation);
extern __device__ int counted;
extern __constant__ int factors[4];

// In both units.
template <typename T>
__device__ __noinline__ T twice_and_one(T x) {
  atomicAdd(&counted, 1);
  return 2 * x + 1;
}
template <typename T>
__global__ void change(T* values) {
  values[threadIdx.x] = twice_and_one(values[threadIdx.x]);
}
void launch_change(int* values, unsigned count);
