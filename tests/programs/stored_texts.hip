// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Addresses of texts and of constants that a unit has to itself, put into memory by one kernel and followed by others:
// directly, out of tables (also a local one), through shared memory, in a structure, through a function that is not
// inlined, and as an argument that the host has read.

#include "check.h"

namespace {

constexpr int kBlock = 64;

__device__ constexpr int kPrimes[] = {2, 3, 5, 7, 11, 13, 17, 19};
__device__ constexpr const char* kColours[] = {"red", "green", "blue", "orange"};
struct Unit {
  const char* name;
  double factor;
};
__device__ constexpr Unit kUnits[] = {{"metre", 1}, {"foot", 0.3048}, {"inch", 0.0254}};

struct Thing {
  const char* kind;
  const char* colour;
  const char* size;
  const char* neighbour;
  const int* primes;
  const Unit* unit;
  std::uintptr_t season;
};

__device__ __noinline__ const char* kind_of(int i) { return i % 3 == 0 ? "cube" : i % 3 == 1 ? "sphere" : "cone"; }

// Few and many of them are told in different ways by an optimiser.
__device__ const char* season_of(int i) {
  switch (i % 5) {
    case 0:
      return "spring";
    case 1:
      return "summer";
    case 2:
      return "autumn";
    case 3:
      return "winter";
    default:
      return "none";
  }
}

__global__ void describe(Thing* things, int n) {
  __shared__ const char* parities[kBlock];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  parities[threadIdx.x] = i % 2 ? "odd" : "even";
  __syncthreads();
  if (i >= n) return;
  const char* sizes[] = {"small", "medium", "large"};
  Thing& thing = things[i];
  thing.kind = kind_of(i);
  thing.colour = kColours[i % 4];
  thing.size = sizes[(i / 2) % 3];
  thing.neighbour = parities[threadIdx.x ^ 1];
  thing.primes = kPrimes + i % 7;
  thing.unit = &kUnits[i % 3];
  thing.season = reinterpret_cast<std::uintptr_t>(season_of(i));
}

__host__ __device__ int sum_of(const char* text) {
  int sum = 0;
  while (*text != 0) sum = sum * 3 + *text++;
  return sum;
}

__global__ void measure(const Thing* things, double* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Thing& thing = things[i];
  out[i] = sum_of(thing.kind) + 2 * sum_of(thing.colour) + 3 * sum_of(thing.size) + 5 * sum_of(thing.neighbour) +
           7 * thing.primes[1] + 11 * sum_of(thing.unit->name) + thing.unit->factor +
           13 * sum_of(reinterpret_cast<const char*>(thing.season));
}

__global__ void spell(const char* text, char* out) {
  int i = 0;
  for (; text[i] != 0; ++i) out[i] = text[i];
  out[i] = 0;
}

double expected(int i) {
  const char* kinds[] = {"cube", "sphere", "cone"};
  const char* colours[] = {"red", "green", "blue", "orange"};
  const char* sizes[] = {"small", "medium", "large"};
  const char* units[] = {"metre", "foot", "inch"};
  const char* seasons[] = {"spring", "summer", "autumn", "winter", "none"};
  const int primes[] = {2, 3, 5, 7, 11, 13, 17, 19};
  const double factors[] = {1, 0.3048, 0.0254};
  return sum_of(kinds[i % 3]) + 2 * sum_of(colours[i % 4]) + 3 * sum_of(sizes[(i / 2) % 3]) +
         5 * sum_of(i % 2 ? "even" : "odd") + 7 * primes[i % 7 + 1] + 11 * sum_of(units[i % 3]) + factors[i % 3] +
         13 * sum_of(seasons[i % 5]);
}

}  // namespace

int main() {
  const int n = 200;
  Test test("stored_texts");
  auto* things = device_array<Thing>(n);
  auto* out = device_array<double>(n);
  auto* text = device_array<char>(16);
  check(hipMemset(things, 0, n * sizeof(Thing)));
  check(hipMemset(text, 0, 16));

  describe<<<blocks_for(n, kBlock), kBlock>>>(things, n);
  measure<<<blocks_for(n, kBlock), kBlock>>>(things, out, n);
  std::vector<double> want(n);
  for (int i = 0; i < n; ++i) want[i] = expected(i);
  test.close("sums", to_host(out, n), want, 1e-12);

  Thing fifth = to_host(things, 6)[5];
  spell<<<1, 1>>>(fifth.colour, text);
  test.expect(std::string(to_host(text, 16).data()) == "green", "a text that the host passes on");

  check(hipFree(things));
  check(hipFree(out));
  check(hipFree(text));
  return test.finish();
}
