// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What a unit leaves in memory for a kernel of another: pointers to what it has to itself, and to what units share.
struct Shape {
  __device__ virtual int area(int x) const = 0;
};

using Step = int (*)(int);

struct Left {
  Step own, shared, imported;
  const char* text;
  const int* primes;
  alignas(16) unsigned char shape[16];
};

__device__ inline int halve(int x) { return x / 2; }  // in both units
__device__ int negate(int x);                         // pointers_elsewhere.hip

void leave_elsewhere(Left* left);  // launches the kernel `leave` of pointers_elsewhere.hip
