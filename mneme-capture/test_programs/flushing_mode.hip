// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An application that has its processor take denormal numbers for zeros, as -ffast-math does where it links: kernels on
// a GPU, and replays, know nothing of that.
#if !defined(__HIP_DEVICE_COMPILE__)
#include <xmmintrin.h>
#endif

#include "../../tests/programs/check.h"

__global__ void halve(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x] * 0.5f; }

int main() {
  Test test("flushing_mode");
  const std::vector<float> values(64, 0x1p-130f), halves(64, 0x1p-131f);
  float *in = to_device(values), *out = device_array<float>(64);
#if !defined(__HIP_DEVICE_COMPILE__)
  _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
  halve<<<1, 64>>>(in, out);
  check(hipDeviceSynchronize());
#if !defined(__HIP_DEVICE_COMPILE__)
  const bool kept = (_mm_getcsr() & 0x8040) == 0x8040;
  test.expect(kept, "the application's mode is another one now");
  _mm_setcsr(_mm_getcsr() & ~0x8040u);
#endif
  test.equal("halves", to_host(out, 64), halves);
  return test.finish();
}
