// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Callbacks in streams: after the kernels before them, before the kernels behind them, which use what they left.
#include "check.h"

__global__ void scale(const unsigned* factor, unsigned* data, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[i] * *factor + i;
}

struct Step {
  unsigned* factor;
  const unsigned* data;
  unsigned seen = 0;
};

// Callbacks. Each notes what the kernel before it left, and changes what the next one uses.
void add(hipStream_t, hipError_t status, void* user) {
  auto* step = static_cast<Step*>(user);
  step->seen = status == hipSuccess ? step->data[1] : 0;
  *step->factor += 2;
}

void flip(hipStream_t, hipError_t status, void* user) {
  auto* step = static_cast<Step*>(user);
  step->seen = status == hipSuccess ? step->data[1] : 0;
  *step->factor ^= 5;
}

int main() {
  Test test("callback_order");
  constexpr unsigned kCount = 1000, kSteps = 6;
  unsigned *data = nullptr, *factor = nullptr;
  check(hipHostMalloc(reinterpret_cast<void**>(&data), kCount * sizeof(unsigned), 0));
  check(hipHostMalloc(reinterpret_cast<void**>(&factor), sizeof(unsigned), 0));
  for (unsigned i = 0; i < kCount; ++i) data[i] = i + 1;
  *factor = 3;
  hipStream_t stream;
  check(hipStreamCreate(&stream));
  std::vector<Step> steps(kSteps, Step{factor, data});
  for (unsigned s = 0; s < kSteps; ++s) {
    scale<<<blocks_for(kCount, 128), 128, 0, stream>>>(factor, data, kCount);
    hipStreamCallback_t callback = s % 2 == 0 ? add : flip;
    check(hipStreamAddCallback(stream, callback, &steps[s], 0));
  }
  check(hipStreamSynchronize(stream));

  std::vector<unsigned> want(kCount);
  for (unsigned i = 0; i < kCount; ++i) want[i] = i + 1;
  unsigned f = 3;
  for (unsigned s = 0; s < kSteps; ++s) {
    for (unsigned i = 0; i < kCount; ++i) want[i] = want[i] * f + i;
    test.equal("seen by a callback", steps[s].seen, want[1]);
    f = s % 2 == 0 ? f + 2 : f ^ 5;
  }
  test.equal("data", std::vector<unsigned>(data, data + kCount), want);
  check(hipStreamDestroy(stream));
  check(hipHostFree(data));
  check(hipHostFree(factor));
  return test.finish();
}
