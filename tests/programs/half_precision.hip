// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Half precision: loads, stores, conversions, and single operations, whose results are exact to the bit.

#include <hip/hip_fp16.h>

#include <cstring>

#include "check.h"

__global__ void half_precision(const __half* a, const __half* b, __half* sum, __half* product, float* wide,
                               __half* narrow, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  sum[i] = __hadd(a[i], b[i]);
  product[i] = __hmul(a[i], b[i]);
  wide[i] = __half2float(a[i]) * 3.0f;
  narrow[i] = __float2half(__half2float(b[i]) * 0.3f);
}

using Bits = std::vector<unsigned short>;

static unsigned short bits(_Float16 value) {
  unsigned short result;
  std::memcpy(&result, &value, sizeof result);
  return result;
}

static Bits bits_of(const __half* memory, int n) { return to_host(reinterpret_cast<const unsigned short*>(memory), n); }

int main() {
  Test test("half_precision");
  const int n = 20000;
  Random random(1);
  Bits a(n), b(n), sum(n), product(n), narrow(n);
  std::vector<float> wide(n);
  for (int i = 0; i < n; ++i) {
    _Float16 x = static_cast<_Float16>(random.between(0.25f, 100.0f));
    _Float16 y = static_cast<_Float16>(random.between(-100.0f, -0.25f));
    a[i] = bits(x);
    b[i] = bits(y);
    // A float holds the exact product and, for these magnitudes, the exact sum: rounding it is rounding once.
    sum[i] = bits(static_cast<_Float16>(static_cast<float>(x) + static_cast<float>(y)));
    product[i] = bits(static_cast<_Float16>(static_cast<float>(x) * static_cast<float>(y)));
    wide[i] = static_cast<float>(x) * 3.0f;
    narrow[i] = bits(static_cast<_Float16>(static_cast<float>(y) * 0.3f));
  }

  __half* device_a = reinterpret_cast<__half*>(to_device(a));
  __half* device_b = reinterpret_cast<__half*>(to_device(b));
  __half* device_sum = device_array<__half>(n);
  __half* device_product = device_array<__half>(n);
  float* device_wide = device_array<float>(n);
  __half* device_narrow = device_array<__half>(n);
  half_precision<<<blocks_for(n, 128), 128>>>(device_a, device_b, device_sum, device_product, device_wide,
                                              device_narrow, n);
  check(hipGetLastError());

  test.equal("sum", bits_of(device_sum, n), sum);
  test.equal("product", bits_of(device_product, n), product);
  test.equal("wide", to_host(device_wide, n), wide);
  test.equal("narrow", bits_of(device_narrow, n), narrow);
  for (__half* memory : {device_a, device_b, device_sum, device_product, device_narrow}) check(hipFree(memory));
  check(hipFree(device_wide));
  return test.finish();
}
