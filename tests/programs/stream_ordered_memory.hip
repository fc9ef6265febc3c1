// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory allocated and released in stream order, again and again in different sizes, while earlier work on the same
// stream may still be under way.

#include "check.h"

__global__ void fill(unsigned* memory, int n, unsigned seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) memory[i] = (i + seed) * 2654435761u;
}

__global__ void add_to(const unsigned* memory, int n, unsigned* total) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) total[i] += memory[i] >> 5;
}

int main() {
  Test test("stream_ordered_memory");
  const int n = 30000;
  std::vector<unsigned> want = Random(1).values(n, 1u, 1000u);
  unsigned* total = to_device(want);
  hipStream_t stream;
  check(hipStreamCreate(&stream));
  for (unsigned round = 0; round < 6; ++round) {
    int count = n - 1000 * static_cast<int>(round);
    void* memory = nullptr;
    check(hipMallocAsync(&memory, count * sizeof(unsigned), stream));
    unsigned* temporary = static_cast<unsigned*>(memory);
    fill<<<blocks_for(count, 128), 128, 0, stream>>>(temporary, count, round);
    add_to<<<blocks_for(count, 128), 128, 0, stream>>>(temporary, count, total);
    check(hipGetLastError());
    check(hipFreeAsync(temporary, stream));
    for (int i = 0; i < count; ++i) want[i] += ((i + round) * 2654435761u) >> 5;
  }
  check(hipStreamSynchronize(stream));
  test.equal("total", to_host(total, n), want);
  check(hipStreamDestroy(stream));
  check(hipFree(total));
  return test.finish();
}
