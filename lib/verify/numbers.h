// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading elements out of bytes. Every small floating-point format is exact as a double.
#pragma once
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>

namespace mneme::verify {

template <class T>
struct Integer {
  using Value = T;
  static constexpr size_t kSize = sizeof(T);
  static Value read(const std::byte* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
};

struct Half {
  using Value = double;
  static constexpr size_t kSize = 2;
  static double read(const std::byte* bytes) {
    _Float16 value;
    std::memcpy(&value, bytes, sizeof value);
    return static_cast<double>(value);
  }
};

struct BrainFloat {
  using Value = double;
  static constexpr size_t kSize = 2;
  static double read(const std::byte* bytes) {
    uint16_t upper;
    std::memcpy(&upper, bytes, sizeof upper);
    return static_cast<double>(std::bit_cast<float>(uint32_t{upper} << 16));
  }
};

template <class T>
struct Floating {
  using Value = double;
  static constexpr size_t kSize = sizeof(T);
  static double read(const std::byte* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return static_cast<double>(value);
  }
};

template <class T>
struct Complex {
  using Value = std::complex<double>;
  static constexpr size_t kSize = 2 * sizeof(T);
  static Value read(const std::byte* bytes) { return {Floating<T>::read(bytes), Floating<T>::read(bytes + sizeof(T))}; }
};

}  // namespace mneme::verify
