// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Words of 64 bits in shared memory that some threads store as two halves and others read as a whole, or the other way,
// with fences and no barrier between. Within a thread, types tell what cannot be the same memory; between lanes they do
// not.
#include "check.h"

constexpr unsigned kThreads = 128, kCount = 300, kWave = 32;

// Each thread clears its word; the first two store the halves of the first thread's word; each reads its own as a
// whole. That word carries the total so far on to the next numbers.
__global__ void totals(const unsigned* start, long* out, unsigned count) {
  extern __shared__ unsigned words[];
  const unsigned t = threadIdx.y, threads = blockDim.y;
  unsigned* carry = words + 2 * (threads + 1);
  for (unsigned i = t; i < 2; i += threads) carry[i] = start[i];
  for (unsigned base = 0; base < count; base += threads) {
    __syncthreads();
    *reinterpret_cast<long*>(words + 2 * (t + 1)) = 0;
    for (unsigned i = t; i < 2; i += threads) words[i] = words[i + 2] = carry[i];
    __threadfence_block();
    if (base + t < count) *reinterpret_cast<long*>(words + 2 * (t + 1)) += (base + t) % 5;
    __syncthreads();
    if (t == 0) {
      for (unsigned k = 1; k < threads; ++k) reinterpret_cast<long*>(words)[k + 1] += reinterpret_cast<long*>(words)[k];
    }
    __syncthreads();
    for (unsigned i = t; i < 2; i += threads) carry[i] = words[2 * threads + i];
    if (base + t < count) out[base + t] = reinterpret_cast<long*>(words)[t + 1];
  }
}

// Lanes store their words as Stored and read a neighbour's as Read. What is of their own they only store, and what is
// of others they only read.
template <class Stored, class Read>
__global__ void neighbours(const unsigned long* in, unsigned long* out) {
  constexpr unsigned kStored = 8 / sizeof(Stored), kRead = 8 / sizeof(Read);
  alignas(8) __shared__ unsigned char bytes[8 * kThreads];
  Stored* stored = reinterpret_cast<Stored*>(bytes);
  Read* read = reinterpret_cast<Read*>(bytes);
  unsigned t = threadIdx.x, other = t / kWave * kWave + (t + 7) % kWave;
  unsigned long sum = 0;
  for (unsigned round = 0; round < 4; ++round) {
    for (unsigned i = 0; i < kStored; ++i)
      stored[t * kStored + i] = static_cast<Stored>((in[t] + round) >> (8 * sizeof(Stored) * i));
    __threadfence_block();
    unsigned long value = 0;
    for (unsigned i = 0; i < kRead; ++i)
      value |= static_cast<unsigned long>(read[other * kRead + i]) << (8 * sizeof(Read) * i % 64);
    __threadfence_block();
    sum = 3 * sum + value;
  }
  out[t] = sum;
}

template <class Stored, class Read>
void check_neighbours(Test& test, const char* what) {
  std::vector<unsigned long> in(kThreads), want(kThreads);
  Random random(sizeof(Stored));
  for (unsigned long& value : in) value = random.bits();
  unsigned long *device_in = to_device(in), *device_out = device_array<unsigned long>(kThreads);
  neighbours<Stored, Read><<<1, kThreads>>>(device_in, device_out);
  for (unsigned t = 0; t < kThreads; ++t) {
    for (unsigned round = 0; round < 4; ++round)
      want[t] = 3 * want[t] + in[t / kWave * kWave + (t + 7) % kWave] + round;
  }
  test.equal(what, to_host(device_out, kThreads), want);
  check(hipFree(device_in));
  check(hipFree(device_out));
}

int main() {
  Test test("halves_and_wholes");
  unsigned* device_start = to_device(std::vector<unsigned>{500, 0});
  long* device_out = device_array<long>(kCount);
  totals<<<1, dim3(1, kThreads), 8 * (kThreads + 3)>>>(device_start, device_out, kCount);
  std::vector<long> want(kCount);
  for (unsigned i = 0; i < kCount; ++i) want[i] = (i ? want[i - 1] : 500) + i % 5;
  test.equal("totals", to_host(device_out, kCount), want);
  check(hipFree(device_start));
  check(hipFree(device_out));

  check_neighbours<unsigned, unsigned long>(test, "halves stored, wholes read");
  check_neighbours<unsigned long, unsigned>(test, "wholes stored, halves read");
  check_neighbours<unsigned short, unsigned>(test, "quarters stored, halves read");
  check_neighbours<unsigned long, unsigned short>(test, "wholes stored, quarters read");
  return test.finish();
}
