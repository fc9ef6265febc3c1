// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Addresses of texts and of a constant in memory: one kernel puts them there, another follows them.
#include "cuda.h"

struct Thing {
  const char* name;
  const int* prime;
};

static __constant__ const int kPrimes[] = {2, 3, 5};

__global__ void describe(Thing* things) {
  unsigned i = index();
  const char* names[] = {"one", "two", "three"};
  things[i] = {names[i % 3], &kPrimes[i % 3]};
}

__global__ void measure(const Thing* things, int* data) {
  const Thing& thing = things[index()];
  int sum = *thing.prime;
  for (const char* at = thing.name; *at; ++at) sum = sum * 7 + *at;
  data[index()] = sum;
}

int main() {
  constexpr int kThreads = 96;
  int host[kThreads];
  void *things = nullptr, *data = nullptr;
  CHECK(cudaMalloc(&things, kThreads * sizeof(Thing)) == 0);
  CHECK(cudaMalloc(&data, sizeof host) == 0);
  CHECK(cudaMemset(things, 0, kThreads * sizeof(Thing)) == 0 && cudaMemset(data, 0, sizeof host) == 0);
  describe<<<3, 32>>>(static_cast<Thing*>(things));
  measure<<<3, 32>>>(static_cast<const Thing*>(things), static_cast<int*>(data));
  CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost) == 0);
  for (int i = 0; i < kThreads; ++i) {
    const char* names[] = {"one", "two", "three"};
    int sum = i % 3 == 2 ? 5 : i % 3 + 2;
    for (const char* at = names[i % 3]; *at; ++at) sum = sum * 7 + *at;
    CHECK(host[i] == sum);
  }
  CHECK(cudaFree(things) == 0 && cudaFree(data) == 0);
  std::puts("texts: ok");
}
