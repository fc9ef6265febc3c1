// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rocPRIM over the whole device: scan, whose blocks look back at those before them, and a radix sort of pairs.
#include <algorithm>
#include <numeric>

#include "check.h"
// After the runtime's header.
#include <rocprim/device/device_radix_sort.hpp>
#include <rocprim/device/device_scan.hpp>

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
  Test test("rocprim_scan_sort");
  std::vector<unsigned> in;
  Random random(22);
  for (unsigned i = 0; i < 12000; ++i) in.push_back(random.below(4000));
  unsigned *device_in = to_device(in), *out = device_array<unsigned>(in.size());

  with_storage([&](void* storage, std::size_t& bytes) {
    return rocprim::inclusive_scan(storage, bytes, device_in, out, in.size(), rocprim::plus<unsigned>());
  });
  std::vector<unsigned> want(in.size());
  std::partial_sum(in.begin(), in.end(), want.begin());
  test.equal("scan", to_host(out, in.size()), want);

  std::vector<unsigned> places(in.size());
  std::iota(places.begin(), places.end(), 0u);
  unsigned *device_places = to_device(places), *places_out = device_array<unsigned>(in.size());
  with_storage([&](void* storage, std::size_t& bytes) {
    return rocprim::radix_sort_pairs(storage, bytes, device_in, out, device_places, places_out, in.size(), 0, 12);
  });
  std::stable_sort(places.begin(), places.end(), [&](unsigned a, unsigned b) { return in[a] < in[b]; });
  for (unsigned i = 0; i < in.size(); ++i) want[i] = in[places[i]];
  test.equal("sorted", to_host(out, in.size()), want);
  test.equal("places", to_host(places_out, in.size()), places);
  for (unsigned* memory : {device_in, out, device_places, places_out}) check(hipFree(memory));
  return test.finish();
}
