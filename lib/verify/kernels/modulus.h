// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For kernels and for the host alike: no header of either.
#pragma once

namespace mneme::verify {

#if defined(__CUDA__) || defined(__HIP__)
#pragma clang force_cuda_host_device begin
#endif

// The modulus of a complex number of which the parts' magnitudes are x and y. Of IEEE's basic operations only, so that
// every device and every C library gives the same bits.
inline double modulus(double x, double y) {
  double larger = x > y ? x : y;
  bool is_large = larger > 0x1p+500, is_small = larger < 0x1p-400;  // its square is no double
  double scale = is_large ? 0x1p-600 : is_small ? 0x1p+600 : 1.0;
  double back = is_large ? 0x1p+600 : is_small ? 0x1p-600 : 1.0;
  x *= scale;
  y *= scale;
  return __builtin_sqrt(x * x + y * y) * back;
}

#if defined(__CUDA__) || defined(__HIP__)
#pragma clang force_cuda_host_device end
#endif

}  // namespace mneme::verify
