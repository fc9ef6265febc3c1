// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <xmmintrin.h>

namespace mneme::device::host {

// The processor's floating-point arithmetic as kernels have it, on this thread for as long as this lives: to nearest,
// denormal numbers kept, no traps. An application may have set its own mode, and one that is linked with -ffast-math has.
class ArithmeticMode {
 public:
  ArithmeticMode() : before_(_mm_getcsr()) { _mm_setcsr(kUsual); }
  ~ArithmeticMode() { _mm_setcsr(before_); }
  ArithmeticMode(const ArithmeticMode&) = delete;
  ArithmeticMode& operator=(const ArithmeticMode&) = delete;

 private:
  static constexpr unsigned kUsual = 0x1f80;  // as a process begins
  unsigned before_;
};

}  // namespace mneme::device::host
