// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For kernels and for the host alike: no header of either.
#pragma once

namespace mneme::verify {

#if defined(__CUDA__) || defined(__HIP__)
#pragma clang force_cuda_host_device begin
#endif

template <class Numbers>
inline Numbers root(Numbers values) {
  if constexpr (__is_same(Numbers, double)) {
    return __builtin_sqrt(values);
  } else {
    return __builtin_elementwise_sqrt(values);
  }
}

// The modulus of a complex number of which the parts' magnitudes are x and y: doubles, or vectors of them. Of IEEE's
// basic operations only, so that every device and every C library gives the same bits.
template <class Numbers>
inline Numbers modulus(Numbers x, Numbers y) {
  Numbers larger = x > y ? x : y;
  auto is_large = larger > 0x1p+500, is_small = larger < 0x1p-400;  // its square is no double
  Numbers scale = is_large ? Numbers(0x1p-600) : is_small ? Numbers(0x1p+600) : Numbers(1);
  Numbers back = is_large ? Numbers(0x1p+600) : is_small ? Numbers(0x1p-600) : Numbers(1);
  x *= scale;
  y *= scale;
  return root(x * x + y * y) * back;
}

// The same, of what is 0, not finite, or neither large nor small.
template <class Numbers>
inline Numbers plain_modulus(Numbers x, Numbers y) {
  return root(x * x + y * y);
}

#if defined(__CUDA__) || defined(__HIP__)
#pragma clang force_cuda_host_device end
#endif

}  // namespace mneme::verify
