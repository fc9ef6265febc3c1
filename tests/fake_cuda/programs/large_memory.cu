// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Much memory, of which launches and copies between them change a little: the recorder has the device look for it.
#include <string>
#include <vector>

#include "cuda.h"

extern "C" void* dlsym(void*, const char*);

constexpr unsigned kCount = 6u << 20, kFew = 2000;

__global__ void add(int* data, unsigned first, int what) {
  unsigned i = index();
  if (i < kFew) data[first + i] += what;
}

// One number in each third block: these are brought together before they cross the link.
constexpr unsigned kBlock = (64 << 10) / sizeof(int);
__global__ void sprinkle(int* data) {
  unsigned block = index();
  if (block < kCount / kBlock && block % 3 == 1) data[block * kBlock + 5] += static_cast<int>(block);
}

int main() {
  int *data = nullptr, *more = nullptr;
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, kCount * sizeof(int)) == 0);
  data = static_cast<int*>(memory);
  CHECK(cudaMalloc(&memory, 100) == 0);  // shares its block with nothing, or with what comes next
  CHECK(cudaMalloc(&memory, 5000 * sizeof(int)) == 0);
  more = static_cast<int*>(memory);

  std::vector<int> host(kCount, 0);
  for (unsigned i = 0; i < kCount / 2; ++i) host[i] = static_cast<int>(i * 7);  // the rest stays zero
  CHECK(cudaMemcpy(data, host.data(), kCount * sizeof(int), cudaMemcpyHostToDevice) == 0);
  CHECK(cudaMemcpy(more, host.data(), 5000 * sizeof(int), cudaMemcpyHostToDevice) == 0);
  std::vector<int> other(host.begin(), host.begin() + 5000);
  for (int round = 1; round <= 4; ++round) {
    unsigned first = static_cast<unsigned>(round) * 1000003;
    add<<<(kFew + 255) / 256, 256>>>(data, first, round);
    add<<<(kFew + 255) / 256, 256>>>(more, 3 * round, -round);
    for (unsigned i = 0; i < kFew; ++i) host[first + i] += round, other[3 * round + i] -= round;
    // Changed beside kernels: in a block that one has changed, and in one that none has.
    for (unsigned at : {first + 1, kCount - 5 * round}) {
      CHECK(cudaMemset(data + at, round, sizeof(int)) == 0);
      host[at] = round * 0x01010101;
    }
  }
  sprinkle<<<kCount / kBlock / 64, 64>>>(data);
  for (unsigned block = 1; block < kCount / kBlock; block += 3) host[block * kBlock + 5] += static_cast<int>(block);
  std::vector<int> seen(kCount);
  CHECK(cudaMemcpy(seen.data(), data, kCount * sizeof(int), cudaMemcpyDeviceToHost) == 0);
  CHECK(seen == host);
  seen.resize(5000);
  CHECK(cudaMemcpy(seen.data(), more, 5000 * sizeof(int), cudaMemcpyDeviceToHost) == 0);
  CHECK(seen == other);
  for (const char* what : {"Digests", "Gathered"}) {
    void* count = dlsym(nullptr, (std::string("cuFake") + what).c_str());
    if (count) std::fprintf(stderr, "%s: %llu blocks\n", what, reinterpret_cast<unsigned long long (*)()>(count)());
  }
  std::puts("large_memory: ok");
}
