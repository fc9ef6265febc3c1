// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rocPRIM over the whole device: reduce, and select (a scan by blocks that look back at those before them).
#include <chrono>
#include <iostream>  // rocPRIM forgets it
#include <numeric>

#include "check.h"
// After the runtime's header.
#include <rocprim/device/device_reduce.hpp>
#include <rocprim/device/device_select.hpp>

struct IsOdd {
  __host__ __device__ bool operator()(int x) const { return x % 2 != 0; }
};

// Calls a primitive twice, as rocPRIM wants it: for the size of its memory, then to work.
template <class F>
void with_storage(F call) {
  std::size_t bytes = 0;
  check(call(nullptr, bytes));
  char* storage = device_array<char>(bytes);
  check(call(storage, bytes));
  check(hipDeviceSynchronize());
  check(hipFree(storage));
}

int main() {
  Test test("rocprim_reduce_select");
  std::vector<int> in = Random(21).values(9000, -500, 500);
  int *device_in = to_device(in), *out = device_array<int>(in.size());
  unsigned* count = device_array<unsigned>(1);

  with_storage([&](void* storage, std::size_t& bytes) {
    return rocprim::reduce(storage, bytes, device_in, out, 7, in.size(), rocprim::plus<int>());
  });
  test.equal("sum", to_host(out, 1)[0], std::accumulate(in.begin(), in.end(), 7));

  check(hipMemset(out, 0, in.size() * sizeof(int)));
  with_storage([&](void* storage, std::size_t& bytes) {
    return rocprim::select(storage, bytes, device_in, out, count, in.size(), IsOdd());
  });
  std::vector<int> want;
  for (int x : in) {
    if (IsOdd()(x)) want.push_back(x);
  }
  test.equal("how many are odd", to_host(count, 1)[0], static_cast<unsigned>(want.size()));
  test.equal("the odd ones", to_host(out, want.size()), want);
  check(hipFree(device_in));
  check(hipFree(out));
  check(hipFree(count));
  return test.finish();
}
