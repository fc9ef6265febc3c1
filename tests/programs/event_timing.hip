// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Events around kernels: not ready before they have happened, times that add up, errors for those that have none.
#include "check.h"

__global__ void work(unsigned* data, unsigned n, unsigned rounds) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned x = data[i];
  for (unsigned r = 0; r < rounds; ++r) x = x * 1664525u + 1013904223u;
  data[i] = x;
}

float between(hipEvent_t first, hipEvent_t last) {
  float milliseconds = 0;
  check(hipEventElapsedTime(&milliseconds, first, last));
  return milliseconds;
}

int main() {
  Test test("event_timing");
  constexpr unsigned kCount = 1 << 14, kRounds = 2000;
  Random random(3);
  std::vector<unsigned> start(kCount);
  for (unsigned& value : start) value = static_cast<unsigned>(random.bits());
  unsigned* data = to_device(start);

  hipStream_t stream;
  check(hipStreamCreate(&stream));
  hipEvent_t begin, middle, end, untimed;
  for (hipEvent_t* event : {&begin, &middle, &end}) check(hipEventCreate(event));
  check(hipEventCreateWithFlags(&untimed, hipEventDisableTiming));
  float milliseconds = 0;
  test.expect(hipEventElapsedTime(&milliseconds, begin, end) == hipErrorInvalidHandle, "a time from nothing");
  (void)hipGetLastError();

  work<<<kCount / 128, 128, 0, stream>>>(data, kCount, 1);
  check(hipEventRecord(begin, stream));
  work<<<kCount / 128, 128, 0, stream>>>(data, kCount, kRounds);
  check(hipEventRecord(middle, stream));
  work<<<kCount / 128, 128, 0, stream>>>(data, kCount, kRounds);
  check(hipEventRecord(end, stream));
  check(hipEventRecord(untimed, stream));
  check(hipEventSynchronize(end));
  check(hipEventQuery(begin));
  float whole = between(begin, end), parts = between(begin, middle) + between(middle, end);
  test.expect(whole > 0 && between(begin, middle) > 0 && between(middle, end) > 0, "no time passed");
  test.expect(std::fabs(whole - parts) <= 1e-3f * whole + 1e-3f, "the parts are not the whole");
  check(hipEventSynchronize(untimed));
  test.expect(hipEventElapsedTime(&milliseconds, begin, untimed) == hipErrorInvalidHandle, "a time without timing");
  (void)hipGetLastError();

  std::vector<unsigned> want = start;
  for (unsigned& x : want) {
    for (unsigned r = 0; r < 2 * kRounds + 1; ++r) x = x * 1664525u + 1013904223u;
  }
  test.equal("data", to_host(data, kCount), want);
  for (hipEvent_t event : {begin, middle, end, untimed}) check(hipEventDestroy(event));
  check(hipStreamDestroy(stream));
  check(hipFree(data));
  return test.finish();
}
