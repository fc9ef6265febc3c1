// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// printf's formatting, for arguments that a kernel sent one by one.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mneme::device::host {

// What a kernel passed to printf: the format first.
struct PrintPart {
  enum Kind { kWord, kText, kNullText } kind = kWord;
  uint64_t word = 0;  // an integer, a pointer, the bits of a double
  std::string text;
};

// A format that was no constant to the compiler leaves a string that it prints as a pointer. This reads each of those
// once, and faults where one leads nowhere; formatted() then will not.
void touch_strings(const std::vector<PrintPart>& parts) noexcept;

// As the C library would print it, with the device's sizes (long has 64 bits, long double is double). An argument that
// is missing is zero or empty, one of the wrong kind too, and those that are left over are ignored. %n prints and
// stores nothing.
std::string formatted(const std::vector<PrintPart>& parts);

// What CUDA's printf returns on a GPU (tried on an H100): how many arguments the format takes, whether they are there
// or not. It knows no precision out of an argument, of the sizes h, l and ll, and neither F nor n; what it does not
// know takes none.
uint32_t count_of_arguments(std::string_view format);

}  // namespace mneme::device::host
