// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two kernels made from one template, launched in turn on two streams that wait for each other through events: the same
// name but for its arguments, the same dimensions, the same pointers.

#include "check.h"

struct Scale {
  __host__ __device__ static unsigned apply(unsigned value, unsigned by) { return value * by; }
};
struct Shift {
  __host__ __device__ static unsigned apply(unsigned value, unsigned by) { return value + by; }
};

template <class Operation, int Repeat>
__global__ void transform(unsigned* data, int n, unsigned by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int r = 0; r < Repeat; ++r) data[i] = Operation::apply(data[i], by);
}

template <class Operation, int Repeat>
void step(unsigned* data, std::vector<unsigned>& want, unsigned by, hipStream_t stream, hipEvent_t after,
          hipEvent_t done) {
  int n = static_cast<int>(want.size());
  check(hipStreamWaitEvent(stream, after, 0));
  transform<Operation, Repeat><<<blocks_for(n, 256), 256, 0, stream>>>(data, n, by);
  check(hipGetLastError());
  check(hipEventRecord(done, stream));
  for (unsigned& value : want)
    for (int r = 0; r < Repeat; ++r) value = Operation::apply(value, by);
}

int main() {
  Test test("two_templates");
  std::vector<unsigned> want = Random(1).values(40000, 1u, 1000000u);
  unsigned* data = to_device(want);
  hipStream_t scaling, shifting;
  hipEvent_t scaled, shifted;
  check(hipStreamCreate(&scaling));
  check(hipStreamCreateWithFlags(&shifting, hipStreamNonBlocking));
  check(hipEventCreate(&scaled));
  check(hipEventCreateWithFlags(&shifted, hipEventDisableTiming));
  check(hipEventRecord(shifted, scaling));  // nothing to wait for in the first round

  for (unsigned round = 0; round < 4; ++round) {
    step<Scale, 2>(data, want, 2 * round + 3, scaling, shifted, scaled);
    step<Shift, 3>(data, want, round + 1, shifting, scaled, shifted);
  }
  check(hipStreamSynchronize(shifting));
  test.expect(hipEventQuery(shifted) == hipSuccess, "the last event is not done after its stream");

  test.equal("data", to_host(data, want.size()), want);
  check(hipEventDestroy(scaled));
  check(hipEventDestroy(shifted));
  check(hipStreamDestroy(scaling));
  check(hipStreamDestroy(shifting));
  check(hipFree(data));
  return test.finish();
}
