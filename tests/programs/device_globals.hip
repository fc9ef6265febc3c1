// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Global variables in device memory, of every kind: constant and set by the host, initialised in the source, static,
// changed by a kernel, and one whose initial value is the address of another.

#include "check.h"

constexpr int kCount = 4096, kBlock = 128, kBins = 8;

__constant__ int coefficients[4];  // set by the host
__constant__ int offset = 17;      // never touched by the host
__device__ int table[kBins] = {2, 3, 5, 7, 11, 13, 17, 19};
__device__ int* table_pointer = table;  // must point at wherever the table lies in this process
__device__ int* last_entry = &table[kBins - 1];
__device__ unsigned launches = 41;
static __device__ int scratch[kCount];  // private to this file
static __device__ unsigned long long checksum;

__global__ void evaluate(const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int x = in[i];
  int value = offset;
  for (int c : coefficients) value = value * x + c;
  scratch[i] += value + table_pointer[i % kBins] + *last_entry;
  out[i] = scratch[i];
  atomicAdd(&checksum, static_cast<unsigned long long>(i) * static_cast<unsigned>(out[i]));
  if (i == 0) ++launches;
}

// A kernel of its own, because no thread of `evaluate` may see the table change.
__global__ void rotate_table() {
  int first = table[0];
  for (int i = 0; i + 1 < kBins; ++i) table[i] = table[i + 1];
  *last_entry = first;
}

int main() {
  Test test("device_globals");
  Random random(1);
  std::vector<int> in = random.values(kCount, -20, 20);
  std::vector<int> start = random.values(kCount, 1, 1000);
  std::vector<int> primes{2, 3, 5, 7, 11, 13, 17, 19};
  const int host_coefficients[4] = {3, -1, 4, -5};
  check(hipMemcpyToSymbol(HIP_SYMBOL(coefficients), host_coefficients, sizeof host_coefficients));
  check(hipMemcpyToSymbol(HIP_SYMBOL(scratch), start.data(), sizeof(int) * kCount));

  int* device_in = to_device(in);
  int* device_out = device_array<int>(kCount);
  std::vector<int> want = start;
  unsigned long long want_checksum = 0;
  for (int launch = 0; launch < 3; ++launch) {
    evaluate<<<kCount / kBlock, kBlock>>>(device_in, device_out, kCount);
    rotate_table<<<1, 1>>>();
    check(hipGetLastError());
    for (int i = 0; i < kCount; ++i) {
      int value = 17;
      for (int c : host_coefficients) value = value * in[i] + c;
      want[i] += value + primes[i % kBins] + primes[kBins - 1];
      want_checksum += static_cast<unsigned long long>(i) * static_cast<unsigned>(want[i]);
    }
    primes.push_back(primes.front());
    primes.erase(primes.begin());
  }
  test.equal("out", to_host(device_out, kCount), want);

  std::vector<int> got_scratch(kCount), got_table(kBins);
  unsigned got_launches = 0;
  unsigned long long got_checksum = 0;
  int* got_pointer = nullptr;
  void* table_address = nullptr;
  check(hipMemcpyFromSymbol(got_scratch.data(), HIP_SYMBOL(scratch), sizeof(int) * kCount));
  check(hipMemcpyFromSymbol(got_table.data(), HIP_SYMBOL(table), sizeof(int) * kBins));
  check(hipMemcpyFromSymbol(&got_launches, HIP_SYMBOL(launches), sizeof got_launches));
  check(hipMemcpyFromSymbol(&got_checksum, HIP_SYMBOL(checksum), sizeof got_checksum));
  check(hipMemcpyFromSymbol(&got_pointer, HIP_SYMBOL(table_pointer), sizeof got_pointer));
  check(hipGetSymbolAddress(&table_address, HIP_SYMBOL(table)));
  test.equal("scratch", got_scratch, want);
  test.equal("table", got_table, primes);
  test.equal("launches", got_launches, 44u);
  test.equal("checksum", got_checksum, want_checksum);
  test.expect(got_pointer == table_address, "table_pointer does not point at the table");
  check(hipFree(device_in));
  check(hipFree(device_out));
  return test.finish();
}
