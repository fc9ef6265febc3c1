// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linked_units.h"

__device__ int counted;
__constant__ int factors[4] = {0, 10, 20, 30};
static __device__ int step = 30;
static __device__ __noinline__ int local(int x) { return x * step; }

__device__ int Shape::area() const { return size; }
__device__ int Square::area() const { return size * 100 + local(size); }
__device__ Shape* make_shape(bool square, int size, void* room) {
  return square ? new (room) Square(size) : new (room) Shape(size);
}
__device__ __noinline__ int apply(int x, Operation operation) { return operation(x) + twice_and_one(x); }

void launch_change(int* values, unsigned count) { change<<<1, count>>>(values); }
