// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading elements out of bytes, in plain C++. Every small floating-point format is exact as a double. The kernels that
// compare many at once have their own (kernels/element_format.h).
#pragma once
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "verify/element_type.h"

namespace mneme::verify {

template <class T>
T read_as(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

struct BrainBits {
  uint16_t upper;  // of a float
  explicit operator double() const { return static_cast<double>(std::bit_cast<float>(uint32_t{upper} << 16)); }
};

// An integer, or a floating-point number of which so many decimal digits tell every number of the type from every
// other.
template <class T, int kDecimalDigits = 0>
struct Number {
  using Value = std::conditional_t<kDecimalDigits == 0, T, double>;
  static constexpr size_t kSize = sizeof(T);
  static constexpr int kDigits = kDecimalDigits;
  static constexpr bool kIsInteger = kDecimalDigits == 0;

  static Value read(const std::byte* bytes) { return static_cast<Value>(read_as<T>(bytes)); }

  // The number of a value among all of its type, in their order: both zeros have the same, 0.
  static auto place(const std::byte* bytes) {
    if constexpr (kIsInteger) {
      return read(bytes);
    } else {
      using Word = std::conditional_t<kSize == 8, uint64_t, std::conditional_t<kSize == 4, uint32_t, uint16_t>>;
      const Word word = read_as<Word>(bytes);
      constexpr Word kSign = static_cast<Word>(Word{1} << (8 * kSize - 1));
      const auto magnitude = static_cast<int64_t>(word & static_cast<Word>(kSign - 1));
      return (word & kSign) != 0 ? -magnitude : magnitude;
    }
  }
};

template <class P>
struct ComplexNumber {
  using Value = std::complex<double>;
  using Part = P;
  static constexpr size_t kSize = 2 * Part::kSize;
  static Value read(const std::byte* bytes) { return {Part::read(bytes), Part::read(bytes + Part::kSize)}; }
};

using Half = Number<_Float16, 5>;
using BrainFloat = Number<BrainBits, 4>;
using Single = Number<float, 9>;
using Double = Number<double, 17>;

// Calls `visit` with how elements of the type are read.
template <class Visit>
auto with_format(ElementType type, const Visit& visit) {
  switch (type) {
    case ElementType::kU8:
      return visit(Number<uint8_t>());
    case ElementType::kI8:
      return visit(Number<int8_t>());
    case ElementType::kU16:
      return visit(Number<uint16_t>());
    case ElementType::kI16:
      return visit(Number<int16_t>());
    case ElementType::kU32:
      return visit(Number<uint32_t>());
    case ElementType::kI32:
      return visit(Number<int32_t>());
    case ElementType::kU64:
      return visit(Number<uint64_t>());
    case ElementType::kI64:
      return visit(Number<int64_t>());
    case ElementType::kF16:
      return visit(Half());
    case ElementType::kF32:
      return visit(Single());
    case ElementType::kF64:
      return visit(Double());
    case ElementType::kBF16:
      return visit(BrainFloat());
    case ElementType::kCF32:
      return visit(ComplexNumber<Single>());
    case ElementType::kCF64:
      break;
  }
  return visit(ComplexNumber<Double>());
}

// Calls `visit` likewise; of complex numbers with how each of their two parts is read.
template <class Visit>
auto with_part_format(ElementType type, const Visit& visit) {
  return with_format(type, [&](auto format) {
    if constexpr (requires { typename decltype(format)::Part; }) {
      return visit(typename decltype(format)::Part());
    } else {
      return visit(format);
    }
  });
}

}  // namespace mneme::verify
