// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work on several streams, ordered only by what orders it: the order within a stream, events, the legacy stream before
// and after blocking ones, and a wait for a word of memory. All of it is queued before any of it is waited for.
#include "check.h"

__global__ void append(unsigned* log, unsigned* length, unsigned value) {
  if (threadIdx.x == 0 && blockIdx.x == 0) log[(*length)++] = value;
}

__global__ void mix(unsigned* data, unsigned n, unsigned rounds, unsigned salt) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned x = data[i];
  for (unsigned r = 0; r < rounds; ++r) x = x * 1664525u + 1013904223u + salt;
  data[i] = x;
}

int main() {
  Test test("stream_order");
  constexpr unsigned kCount = 4096, kRounds = 200;
  Random random(7);
  std::vector<unsigned> start(kCount);
  for (unsigned& value : start) value = static_cast<unsigned>(random.bits());

  hipStream_t first, second, apart;
  check(hipStreamCreate(&first));
  check(hipStreamCreate(&second));
  check(hipStreamCreateWithFlags(&apart, hipStreamNonBlocking));
  hipEvent_t produced, consumed;
  check(hipEventCreateWithFlags(&produced, hipEventDisableTiming));
  check(hipEventCreateWithFlags(&consumed, hipEventDisableTiming));

  unsigned* data = to_device(start);
  unsigned* copy = device_array<unsigned>(kCount);
  unsigned *log = device_array<unsigned>(64), *length = device_array<unsigned>(1), *go = nullptr;
  unsigned* seen = nullptr;
  check(hipMemset(log, 0, 64 * sizeof(unsigned)));
  check(hipMemset(length, 0, sizeof(unsigned)));
  check(hipHostMalloc(reinterpret_cast<void**>(&seen), kCount * sizeof(unsigned), 0));
  check(hipHostMalloc(reinterpret_cast<void**>(&go), sizeof(unsigned), 0));
  *go = 0;
  check(hipDeviceSynchronize());

  // Each round: `first` changes the data, `second` copies it, and only then may `first` change it again.
  std::vector<unsigned> want = start;
  for (unsigned round = 0; round < 5; ++round) {
    mix<<<kCount / 256, 256, 0, first>>>(data, kCount, kRounds, round);
    check(hipEventRecord(produced, first));
    check(hipStreamWaitEvent(second, produced, 0));
    check(hipMemcpyAsync(copy, data, kCount * sizeof(unsigned), hipMemcpyDeviceToDevice, second));
    check(hipMemcpyAsync(seen, copy, kCount * sizeof(unsigned), hipMemcpyDeviceToHost, second));
    check(hipEventRecord(consumed, second));
    check(hipStreamWaitEvent(first, consumed, 0));
    for (unsigned& x : want) {
      for (unsigned r = 0; r < kRounds; ++r) x = x * 1664525u + 1013904223u + round;
    }
  }
  check(hipStreamSynchronize(second));
  test.equal("copied", std::vector<unsigned>(seen, seen + kCount), want);

  // The legacy stream is a place where all blocking streams meet.
  append<<<1, 64, 0, first>>>(log, length, 1);
  append<<<1, 64>>>(log, length, 2);
  append<<<1, 64, 0, second>>>(log, length, 3);
  append<<<1, 64>>>(log, length, 4);
  append<<<1, 64, 0, first>>>(log, length, 5);
  check(hipDeviceSynchronize());
  std::vector<unsigned> order = to_host(log, 5);
  test.equal("order", order, std::vector<unsigned>{1, 2, 3, 4, 5});

  // What waits for the host does not keep others from running.
  check(hipStreamWaitValue32(apart, go, 1, hipStreamWaitValueGte, 0xffffffff));
  check(hipMemsetD32Async(log, 9, 1, apart));
  check(hipStreamSynchronize(first));
  test.expect(hipStreamQuery(apart) == hipErrorNotReady, "a stream did not wait for its value");
  test.equal("before", to_host(log, 1)[0], 1u);
  *reinterpret_cast<volatile unsigned*>(go) = 1;
  check(hipStreamSynchronize(apart));
  test.equal("after", to_host(log, 1)[0], 9u);

  for (hipStream_t stream : {first, second, apart}) check(hipStreamDestroy(stream));
  for (hipEvent_t event : {produced, consumed}) check(hipEventDestroy(event));
  for (unsigned* memory : {data, copy, log, length}) check(hipFree(memory));
  check(hipHostFree(seen));
  check(hipHostFree(go));
  return test.finish();
}
