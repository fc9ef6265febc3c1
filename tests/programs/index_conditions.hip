// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Comparisons of a thread's index with the same number for all threads, of every kind and at the ends of what numbers
// there are: around all that a thread does, on two ways to the same place, and several together.

#include <climits>

#include "check.h"

constexpr int kBlock = 64;
constexpr int kBlocks = 3;
constexpr int kThreads = kBlock * kBlocks;

enum Index { kGlobal, kConstantBlock, kLocal, kUnsigned, kWide, kShifted, kIndices };
enum Relation { kLess, kLessEqual, kGreater, kGreaterEqual, kEqual, kNotEqual, kRelations };

template <Index I>
__host__ __device__ auto index_of(unsigned block, unsigned thread, unsigned size) {
  if constexpr (I == kGlobal) return static_cast<int>(block * size + thread);
  if constexpr (I == kConstantBlock) return static_cast<int>(block * 64 + thread);
  if constexpr (I == kLocal) return static_cast<int>(thread);
  if constexpr (I == kUnsigned) return block * size + thread;
  if constexpr (I == kWide) return static_cast<long long>(block) * size + thread;
  if constexpr (I == kShifted) return static_cast<int>(block * size + thread) - 70;
}

template <Relation R, class T>
__host__ __device__ bool holds(T index, T bound) {
  if constexpr (R == kLess) return index < bound;
  if constexpr (R == kLessEqual) return index <= bound;
  if constexpr (R == kGreater) return index > bound;
  if constexpr (R == kGreaterEqual) return index >= bound;
  if constexpr (R == kEqual) return index == bound;
  if constexpr (R == kNotEqual) return index != bound;
}

// out[3 * thread]: what is done only there; [+ 1]: one thing or the other, with memory on one way; [+ 2]: between.
template <Index I, Relation R>
__host__ __device__ void one_thread(const int* in, int* out, long long wide, long long low, unsigned block,
                                    unsigned thread, unsigned size) {
  auto index = index_of<I>(block, thread, size);
  using T = decltype(index);
  T bound = static_cast<T>(wide), other = static_cast<T>(low);
  unsigned at = block * size + thread;
  if (holds<R>(index, bound)) out[3 * at] += in[at];
  out[3 * at + 1] = holds<R>(index, bound) ? in[at] : 7;
  if (other <= index && holds<R>(index, bound) && in[0] != 1) out[3 * at + 2] = in[at] + 1;
}

template <Index I, Relation R>
__global__ void conditions(const int* in, int* out, long long bound, long long low) {
  one_thread<I, R>(in, out, bound, low, blockIdx.x, threadIdx.x, blockDim.x);
}

namespace {

template <Index I, Relation R>
void test_one(Test& test, const std::vector<int>& in, const int* device_in, int* device_out, long long bound) {
  const std::vector<int> before(3 * kThreads, 5);
  check(hipMemcpy(device_out, before.data(), before.size() * sizeof(int), hipMemcpyHostToDevice));
  long long low = bound / 2 - 3;
  conditions<I, R><<<kBlocks, kBlock>>>(device_in, device_out, bound, low);
  check(hipGetLastError());
  std::vector<int> want = before;
  for (unsigned i = 0; i < kThreads; ++i)
    one_thread<I, R>(in.data(), want.data(), bound, low, i / kBlock, i % kBlock, kBlock);
  std::string what =
      "index " + std::to_string(I) + ", relation " + std::to_string(R) + ", bound " + std::to_string(bound);
  test.equal(what.c_str(), to_host(device_out, want.size()), want);
}

template <int Pair = 0>
void test_all(Test& test, const std::vector<int>& in, const int* device_in, int* device_out) {
  if constexpr (Pair < kIndices * kRelations) {
    constexpr Index kIndex = static_cast<Index>(Pair / kRelations);
    for (long long bound : {LLONG_MIN, -(1ll << 32), 0ll + INT_MIN, -1ll, 0ll, 63ll, 100ll, 192ll, 0ll + INT_MAX,
                            (1ll << 32) - 1, LLONG_MAX}) {
      test_one<kIndex, static_cast<Relation>(Pair % kRelations)>(test, in, device_in, device_out, bound);
    }
    test_all<Pair + 1>(test, in, device_in, device_out);
  }
}

}  // namespace

int main() {
  Test test("index_conditions");
  std::vector<int> in = Random(3).values(kThreads, 100, 1000);
  int* device_in = to_device(in);
  int* device_out = device_array<int>(3 * kThreads);
  test_all(test, in, device_in, device_out);
  check(hipFree(device_in));
  check(hipFree(device_out));
  return test.finish();
}
