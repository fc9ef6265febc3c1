// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Atomic operations on 32 and 64 bits, signed and unsigned, many threads on few cells. Each cell's final value is the
// same in whatever order they happen.

#include <algorithm>

#include "check.h"

constexpr int kCells = 7;

struct Cell {
  int sum, difference, least, most;
  unsigned low, high, all, any, odd, exchanged, exchanges_seen, product;
  unsigned long long wide_sum, wide_low, wide_high, wide_product;
};

constexpr unsigned kMarker = 0xabcd, kUnmarked = 5;

__global__ void atomics_mix(const int* values, int n, Cell* cells) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int value = values[i];
  unsigned bits = static_cast<unsigned>(value);
  unsigned long long wide = (static_cast<unsigned long long>(bits) << 20) + i;
  Cell& cell = cells[i % kCells];

  atomicAdd(&cell.sum, value);
  atomicSub(&cell.difference, value);
  atomicMin(&cell.least, value);
  atomicMax(&cell.most, value);
  atomicMin(&cell.low, bits);
  atomicMax(&cell.high, bits);
  atomicAnd(&cell.all, bits | 0xff00);
  atomicOr(&cell.any, bits & 0xf0f0);
  atomicXor(&cell.odd, bits);
  atomicAdd(&cell.wide_sum, wide);
  atomicMin(&cell.wide_low, wide);
  atomicMax(&cell.wide_high, wide);

  // Only the first to come sees the old value; all see the new one afterwards.
  unsigned before = atomicExch(&cell.exchanged, kMarker);
  atomicAdd(&cell.exchanges_seen, before);

  // Multiplication modulo 2^32 and 2^64 by compare-and-swap. The first guess is usually wrong, and costs one round.
  unsigned seen = 0, expected;
  do {
    expected = seen;
    seen = atomicCAS(&cell.product, expected, expected * (bits | 1));
  } while (seen != expected);
  unsigned long long wide_seen = 0, wide_expected;
  do {
    wide_expected = wide_seen;
    wide_seen = atomicCAS(&cell.wide_product, wide_expected, wide_expected * (wide | 1));
  } while (wide_seen != wide_expected);
}

int main() {
  Test test("atomics_mix");
  const int n = 5003;
  std::vector<int> values = Random(1).values(n, -100000, 100000);
  Cell start{1, 2, 3, 4, 1u << 31, 6, ~0u, 8, 9, kUnmarked, 0, 3, 1ull << 40, 1ull << 60, 7, 5};
  std::vector<Cell> want(kCells, start);
  for (int i = 0; i < n; ++i) {
    Cell& cell = want[i % kCells];
    unsigned bits = static_cast<unsigned>(values[i]);
    unsigned long long wide = (static_cast<unsigned long long>(bits) << 20) + i;
    cell.sum += values[i];
    cell.difference -= values[i];
    cell.least = std::min(cell.least, values[i]);
    cell.most = std::max(cell.most, values[i]);
    cell.low = std::min(cell.low, bits);
    cell.high = std::max(cell.high, bits);
    cell.all &= bits | 0xff00;
    cell.any |= bits & 0xf0f0;
    cell.odd ^= bits;
    cell.exchanges_seen += cell.exchanged;
    cell.exchanged = kMarker;
    cell.product *= bits | 1;
    cell.wide_sum += wide;
    cell.wide_low = std::min(cell.wide_low, wide);
    cell.wide_high = std::max(cell.wide_high, wide);
    cell.wide_product *= wide | 1;
  }

  int* device_values = to_device(values);
  Cell* device_cells = to_device(std::vector<Cell>(kCells, start));
  atomics_mix<<<blocks_for(n, 64), 64>>>(device_values, n, device_cells);
  check(hipGetLastError());

  std::vector<Cell> got = to_host(device_cells, kCells);
  for (int i = 0; i < kCells; ++i) {
    test.equal("sum", got[i].sum, want[i].sum);
    test.equal("difference", got[i].difference, want[i].difference);
    test.equal("least", got[i].least, want[i].least);
    test.equal("most", got[i].most, want[i].most);
    test.equal("low", got[i].low, want[i].low);
    test.equal("high", got[i].high, want[i].high);
    test.equal("all", got[i].all, want[i].all);
    test.equal("any", got[i].any, want[i].any);
    test.equal("odd", got[i].odd, want[i].odd);
    test.equal("exchanged", got[i].exchanged, want[i].exchanged);
    test.equal("exchanges_seen", got[i].exchanges_seen, want[i].exchanges_seen);
    test.equal("product", got[i].product, want[i].product);
    test.equal("wide_sum", got[i].wide_sum, want[i].wide_sum);
    test.equal("wide_low", got[i].wide_low, want[i].wide_low);
    test.equal("wide_high", got[i].wide_high, want[i].wide_high);
    test.equal("wide_product", got[i].wide_product, want[i].wide_product);
  }
  check(hipFree(device_values));
  check(hipFree(device_cells));
  return test.finish();
}
