// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An argument that begins at a multiple of 64, which assemblers have elsewhere than the language's layout: among all that
// a kernel finds in constant memory. And a table in constant memory that is the unit's own.
#include "cuda.h"

struct alignas(64) Line {
  int values[16];
};

static __constant__ int table[4] = {3, 6, 9, 12};

__global__ void take(int* data, long first, Line line, char between, Line other) {
  unsigned i = index();
  data[i] = static_cast<int>(first) + line.values[i % 16] * 1000 + between + other.values[i % 7] + table[i % 4];
}

int main() {
  constexpr int kThreads = 96;
  int host[kThreads];
  void* data = nullptr;
  CHECK(cudaMalloc(&data, sizeof host) == 0 && cudaMemset(data, 0, sizeof host) == 0);
  Line line, other;
  for (int i = 0; i < 16; ++i) line.values[i] = i + 1, other.values[i] = 100 - i;
  take<<<3, 32>>>(static_cast<int*>(data), 5, line, 'c', other);
  CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost) == 0 && cudaFree(data) == 0);
  for (int i = 0; i < kThreads; ++i) CHECK(host[i] == 5 + (i % 16 + 1) * 1000 + 'c' + 100 - i % 7 + 3 * (i % 4 + 1));
  std::puts("alignments: ok");
}
