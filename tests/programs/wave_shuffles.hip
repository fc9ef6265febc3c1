// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shuffles of every kind, type and width, in a block whose last wave is not full, against the same worked out lane by
// lane.

#include "check.h"

constexpr int kBlock = 150, kKinds = 4, kWidths = 6;

template <class T>
__device__ T shuffled(int kind, T value, int argument, int width) {
  if (kind == 0) return __shfl(value, argument % width, width);
  if (kind == 1) return __shfl_up(value, argument, width);
  if (kind == 2) return __shfl_down(value, argument, width);
  return __shfl_xor(value, argument, width);
}

// The thread that thread `t` receives from, or -1 if that is not there: what it receives is anybody's guess.
__host__ __device__ int source(int kind, int t, int argument, int width, int wave) {
  int first = t / wave * wave, lane = t % wave, group = lane / width * width;
  int from = kind == 0   ? group + argument % width
             : kind == 1 ? (lane - argument < group ? lane : lane - argument)
             : kind == 2 ? (lane + argument >= group + width ? lane : lane + argument)
                         : ((lane ^ argument) >= group + width ? lane : lane ^ argument);
  return first + from < kBlock ? first + from : -1;
}

// For each kind and width, what each thread receives, or nothing; the argument is the same for all, but with `own`
// differs.
template <class T>
__global__ void shuffle_all(const T* in, T* out, int argument, bool own, int* wave) {
  int t = threadIdx.x;
  if (t == 0) *wave = warpSize;
  int mine = own ? (argument + t * 5) % 16 : argument;
  for (int kind = 0; kind < kKinds; ++kind) {
    for (int w = 0; w < kWidths; ++w) {
      int width = min(2 << w, warpSize);
      T received = shuffled(kind, in[t], mine, width);
      out[(kind * kWidths + w) * kBlock + t] = source(kind, t, mine, width, warpSize) < 0 ? T{} : received;
    }
  }
}

template <class T>
void try_type(Test& test, const char* name) {
  Random random(7);
  std::vector<T> in(kBlock);
  for (T& value : in) value = static_cast<T>(random.bits() >> 12) / static_cast<T>(3);
  T* device_in = to_device(in);
  T* device_out = to_device(std::vector<T>(kBlock * kKinds * kWidths));
  int* device_wave = to_device(std::vector<int>{0});
  for (int argument : {0, 1, 2, 7, 13, 31}) {
    for (bool own : {false, true}) {
      shuffle_all<<<1, kBlock>>>(device_in, device_out, argument, own, device_wave);
      check(hipGetLastError());
      std::vector<T> out = to_host(device_out, kBlock * kKinds * kWidths), wanted(out.size());
      int wave = to_host(device_wave, 1)[0];
      for (int i = 0; i < kBlock * kKinds * kWidths; ++i) {
        int t = i % kBlock, w = i / kBlock % kWidths, kind = i / kBlock / kWidths;
        int from = source(kind, t, own ? (argument + t * 5) % 16 : argument, std::min(2 << w, wave), wave);
        if (from >= 0) wanted[i] = in[from];
      }
      test.equal(name, out, wanted);
    }
  }
  check(hipFree(device_in));
  check(hipFree(device_out));
  check(hipFree(device_wave));
}

int main() {
  Test test("wave_shuffles");
  try_type<int>(test, "int");
  try_type<unsigned>(test, "unsigned");
  try_type<float>(test, "float");
  try_type<double>(test, "double");
  try_type<long>(test, "long");
  try_type<unsigned long>(test, "unsigned long");
  try_type<long long>(test, "long long");
  try_type<unsigned long long>(test, "unsigned long long");
  return test.finish();
}
