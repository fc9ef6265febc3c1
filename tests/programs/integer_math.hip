// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer functions and operators: bits counted and turned round, high halves of products, 24-bit products, 64-bit
// shifts, divisions and remainders; with zeros and extreme values among the arguments.

#include "check.h"

constexpr int kResults = 22;
using Word = unsigned long long;

__global__ void integer_math(const Word* a, const Word* b, Word* results, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Word x = a[i], y = b[i];
  unsigned x32 = static_cast<unsigned>(x), y32 = static_cast<unsigned>(y);
  long long sx = static_cast<long long>(x), sy = static_cast<long long>(y);
  int sx32 = static_cast<int>(x32), sy32 = static_cast<int>(y32);
  const Word values[kResults] = {
      Word(__clz(sx32)),
      Word(__clzll(sx)),
      Word(__popc(x32)),
      Word(__popcll(x)),
      Word(__ffs(x32)),
      Word(__ffsll(x)),
      __brev(x32),
      __brevll(x),
      Word(static_cast<long long>(__mul24(sx32 >> 8, sy32 >> 8))),
      Word(static_cast<unsigned>(__umul24(x32 >> 8, y32 >> 8))),
      __umulhi(x32, y32),
      Word(static_cast<long long>(__mulhi(sx32, sy32))),
      __umul64hi(x, y),
      Word(__mul64hi(sx, sy)),
      x << (y & 63),
      x >> (y & 63),
      Word(sx >> (y & 63)),
      x / (y | 1),
      x % (y | 1),
      Word((sx >> 1) / (sy | 1)),  // halved: the least integer divided by -1 has no result
      Word((sx >> 1) % (sy | 1)),
      x32 / (y32 | 1) + Word(sx32 / 7) * (x32 % (y32 | 1)),
  };
  for (int r = 0; r < kResults; ++r) results[r * n + i] = values[r];
}

static Word reversed(Word value, int bits) {
  Word result = 0;
  for (int i = 0; i < bits; ++i) result |= ((value >> i) & 1) << (bits - 1 - i);
  return result;
}

static std::vector<Word> reference(Word x, Word y) {
  unsigned x32 = static_cast<unsigned>(x), y32 = static_cast<unsigned>(y);
  long long sx = static_cast<long long>(x), sy = static_cast<long long>(y);
  int sx32 = static_cast<int>(x32), sy32 = static_cast<int>(y32);
  return {
      Word(x32 == 0 ? 32 : __builtin_clz(x32)),
      Word(x == 0 ? 64 : __builtin_clzll(x)),
      Word(__builtin_popcount(x32)),
      Word(__builtin_popcountll(x)),
      Word(__builtin_ffs(sx32)),
      Word(__builtin_ffsll(sx)),
      reversed(x32, 32),
      reversed(x, 64),
      // The low 32 bits of the product, as a signed number.
      Word(static_cast<long long>(static_cast<int>(static_cast<long long>(sx32 >> 8) * (sy32 >> 8)))),
      Word(static_cast<unsigned>(Word(x32 >> 8) * (y32 >> 8))),
      Word(x32) * y32 >> 32,
      Word(static_cast<long long>(sx32) * sy32 >> 32),
      Word(static_cast<unsigned __int128>(x) * y >> 64),
      Word(static_cast<__int128>(sx) * sy >> 64),
      x << (y & 63),
      x >> (y & 63),
      Word(sx >> (y & 63)),
      x / (y | 1),
      x % (y | 1),
      Word((sx >> 1) / (sy | 1)),
      Word((sx >> 1) % (sy | 1)),
      x32 / (y32 | 1) + Word(sx32 / 7) * (x32 % (y32 | 1)),
  };
}

int main() {
  Test test("integer_math");
  const int n = 5000;
  const Word special[] = {0, 1, ~0ull, 1ull << 63, (1ull << 63) - 1, 1ull << 31, 1ull << 32, 0xffffffff};
  Random random(1);
  std::vector<Word> a(n), b(n), want(n * kResults);
  for (int i = 0; i < n; ++i) {
    // All pairs of special values first, then numbers of all magnitudes.
    a[i] = i < 64 ? special[i / 8] : random.bits() >> random.below(64);
    b[i] = i < 64 ? special[i % 8] : random.bits() >> random.below(64);
    std::vector<Word> values = reference(a[i], b[i]);
    for (int r = 0; r < kResults; ++r) want[r * n + i] = values[r];
  }

  Word* device_a = to_device(a);
  Word* device_b = to_device(b);
  Word* device_results = device_array<Word>(want.size());
  integer_math<<<blocks_for(n, 128), 128>>>(device_a, device_b, device_results, n);
  check(hipGetLastError());

  test.equal("results", to_host(device_results, want.size()), want);
  check(hipFree(device_a));
  check(hipFree(device_b));
  check(hipFree(device_results));
  return test.finish();
}
