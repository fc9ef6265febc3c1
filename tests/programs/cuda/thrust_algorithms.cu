// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Thrust: transform, reduce, scan, sort by key, and a selection.
#include <algorithm>
#include <numeric>

#include "../check.h"
// After the runtime's header.
#include <thrust/copy.h>
#include <thrust/device_ptr.h>
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

struct Affine {
  int factor, more;
  __host__ __device__ int operator()(int x) const { return factor * x + more; }
};

struct IsOdd {
  __host__ __device__ bool operator()(int x) const { return x % 2 != 0; }
};

int main() {
  Test test("thrust_algorithms");
  std::vector<int> in = Random(23).values(9000, -500, 500), want(in.size());
  thrust::device_vector<int> device_in(in.begin(), in.end()), out(in.size());

  thrust::transform(device_in.begin(), device_in.end(), out.begin(), Affine{3, 7});
  std::transform(in.begin(), in.end(), want.begin(), Affine{3, 7});
  std::vector<int> got(in.size());
  thrust::copy(out.begin(), out.end(), got.begin());
  test.equal("transformed", got, want);

  test.equal("sum", thrust::reduce(out.begin(), out.end(), 5), std::accumulate(want.begin(), want.end(), 5));

  thrust::inclusive_scan(device_in.begin(), device_in.end(), out.begin());
  std::partial_sum(in.begin(), in.end(), want.begin());
  thrust::copy(out.begin(), out.end(), got.begin());
  test.equal("prefix sums", got, want);

  auto end = thrust::copy_if(device_in.begin(), device_in.end(), out.begin(), IsOdd());
  want.resize(static_cast<std::size_t>(std::copy_if(in.begin(), in.end(), want.begin(), IsOdd()) - want.begin()));
  got.resize(static_cast<std::size_t>(end - out.begin()));
  thrust::copy(out.begin(), end, got.begin());
  test.equal("the odd ones", got, want);

  // Stable: equal keys keep the order of their values.
  std::vector<unsigned> order(in.size());
  std::iota(order.begin(), order.end(), 0u);
  thrust::device_vector<unsigned> device_order(order.begin(), order.end());
  thrust::stable_sort_by_key(device_in.begin(), device_in.end(), device_order.begin());
  std::stable_sort(order.begin(), order.end(), [&](unsigned a, unsigned b) { return in[a] < in[b]; });
  std::vector<unsigned> sorted(in.size());
  thrust::copy(device_order.begin(), device_order.end(), sorted.begin());
  test.equal("order", sorted, order);
  return test.finish();
}
