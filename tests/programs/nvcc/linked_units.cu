// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Device code of two units, linked by nvcc -rdc=true: functions, variables and virtual functions of the other unit, what
// both have, and statics of the same name. linked_units_other.cu is the other.
#include "linked_units.h"

constexpr unsigned kCount = 64;

static __device__ int step = 3;
static __device__ __noinline__ int local(int x) { return x * step + factors[x & 3]; }
__device__ Operation operations[2] = {local, nullptr};

__global__ void shapes(int* out) {
  const int t = static_cast<int>(threadIdx.x);
  alignas(Shape) char room[sizeof(Square)];
  Shape* shape = make_shape(t % 2 == 1, t, room);
  out[t] = shape->area() + local(t) + apply(t, operations[0]) + twice_and_one(t);
  shape->~Shape();
}

int main() {
  int* out = device_array<int>(kCount);
  shapes<<<1, kCount>>>(out);
  const auto first = to_host(out, kCount);
  launch_change(out, kCount);
  const auto second = to_host(out, kCount);
  int count = 0, first_step = 0;
  check(hipMemcpyFromSymbol(&count, HIP_SYMBOL(counted), sizeof count));
  check(hipMemcpyFromSymbol(&first_step, HIP_SYMBOL(step), sizeof first_step));
  bool good = count == 3 * static_cast<int>(kCount) && first_step == 3;
  for (int t = 0; t < static_cast<int>(kCount); ++t) {
    const int own = t * 3 + (t & 3) * 10, area = t % 2 == 1 ? t * 100 + t * 30 : t;
    good &= first[static_cast<size_t>(t)] == area + own + (own + 2 * t + 1) + 2 * t + 1;
    good &= second[static_cast<size_t>(t)] == 2 * first[static_cast<size_t>(t)] + 1;
  }
  std::printf("linked_units: %s\n", good ? "ok" : "FAILED: a result is another");
  return good ? 0 : 1;
}
