// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/digest.h"

namespace mneme::objects {

// A little-endian number at `offset`, which the caller has checked.
template <std::unsigned_integral Number>
Number word_at(Bytes bytes, uint64_t offset) {
  Number number = 0;
  for (size_t i = sizeof(Number); i-- > 0;) {
    number = static_cast<Number>(uint64_t{number} << 8 | std::to_integer<uint64_t>(bytes[offset + i]));
  }
  return number;
}

inline void append_word(std::string& out, uint64_t word) {
  for (int i = 0; i < 8; ++i) out += static_cast<char>(word >> (8 * i));
}

// Behind a record of a section. The linker may leave more than the alignment between two translation units' records:
// all of it is zero.
inline uint64_t skip_zeros(Bytes section, uint64_t at) {
  while (at < section.size() && section[at] == std::byte{0}) ++at;
  return at;
}

// Whether `size` bytes at `offset` lie within `total`, whatever a stranger wrote in the two.
constexpr bool fits(uint64_t offset, uint64_t size, uint64_t total) {
  return offset <= total && size <= total - offset;
}

inline bool starts_with(Bytes bytes, uint64_t offset, std::string_view magic) {
  return fits(offset, magic.size(), bytes.size()) &&
         std::memcmp(bytes.data() + offset, magic.data(), magic.size()) == 0;
}

constexpr uint64_t align_up(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace mneme::objects
