// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading elements out of bytes. Every small floating-point format is exact as a double.
#pragma once
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace mneme::verify {

// The number of a floating-point value among all of its type, in their order: both zeros have the same, 0. `Word` has
// the value's bits.
template <class Word>
int64_t place_of(const std::byte* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof word);
  constexpr Word kSign = static_cast<Word>(Word{1} << (8 * sizeof word - 1));
  auto magnitude = static_cast<int64_t>(word & static_cast<Word>(kSign - 1));
  return (word & kSign) != 0 ? -magnitude : magnitude;
}

template <class T>
struct Integer {
  using Value = T;
  static constexpr size_t kSize = sizeof(T);
  static T place(const std::byte* bytes) { return read(bytes); }
  static Value read(const std::byte* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
};

struct Half {
  using Value = double;
  static constexpr size_t kSize = 2;
  static int64_t place(const std::byte* bytes) { return place_of<uint16_t>(bytes); }
  static double read(const std::byte* bytes) {
    _Float16 value;
    std::memcpy(&value, bytes, sizeof value);
    return static_cast<double>(value);
  }
};

struct BrainFloat {
  using Value = double;
  static constexpr size_t kSize = 2;
  static int64_t place(const std::byte* bytes) { return place_of<uint16_t>(bytes); }
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
  static int64_t place(const std::byte* bytes) {
    return place_of<std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>>(bytes);
  }
  static double read(const std::byte* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return static_cast<double>(value);
  }
};

template <class T>
struct Complex {
  using Value = std::complex<double>;
  using Part = Floating<T>;
  static constexpr size_t kSize = 2 * sizeof(T);
  static Value read(const std::byte* bytes) { return {Floating<T>::read(bytes), Floating<T>::read(bytes + sizeof(T))}; }
};

}  // namespace mneme::verify
