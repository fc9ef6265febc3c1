// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/element_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "verify/numbers.h"

namespace mneme::verify {
namespace {

struct Described {
  std::string_view name;
  size_t size;
};
constexpr Described kTypes[] = {{"u8", 1},  {"i8", 1},  {"u16", 2}, {"i16", 2}, {"u32", 4},  {"i32", 4},  {"u64", 8},
                                {"i64", 8}, {"f16", 2}, {"f32", 4}, {"f64", 8}, {"bf16", 2}, {"cf32", 8}, {"cf64", 16}};

const Described& described(ElementType type) { return kTypes[static_cast<size_t>(type)]; }

// As many digits as tell every number of the type from every other.
template <class Format>
std::string floating_text(Bytes element, int digits) {
  return fmt::format("{:.{}g}", Format::read(element.data()), digits);
}

template <class T>
std::string complex_text(Bytes element, int digits) {
  auto value = Complex<T>::read(element.data());
  return fmt::format("({:.{}g}, {:.{}g})", value.real(), digits, value.imag(), digits);
}

template <class T>
std::string integer_text(Bytes element) {
  return fmt::format("{}", Integer<T>::read(element.data()));
}

}  // namespace

std::string_view name_of(ElementType type) { return described(type).name; }

size_t size_of(ElementType type) { return described(type).size; }

bool is_complex(ElementType type) { return type == ElementType::kCF32 || type == ElementType::kCF64; }

std::optional<ElementType> element_type(std::string_view name) {
  auto found = std::ranges::find(kTypes, name, &Described::name);
  if (found == std::end(kTypes)) return std::nullopt;
  return static_cast<ElementType>(found - std::begin(kTypes));
}

std::string element_text(ElementType type, Bytes element) {
  if (element.size() != size_of(type)) return to_hex(element);
  switch (type) {
    case ElementType::kU8:
      return integer_text<uint8_t>(element);
    case ElementType::kI8:
      return integer_text<int8_t>(element);
    case ElementType::kU16:
      return integer_text<uint16_t>(element);
    case ElementType::kI16:
      return integer_text<int16_t>(element);
    case ElementType::kU32:
      return integer_text<uint32_t>(element);
    case ElementType::kI32:
      return integer_text<int32_t>(element);
    case ElementType::kU64:
      return integer_text<uint64_t>(element);
    case ElementType::kI64:
      return integer_text<int64_t>(element);
    case ElementType::kF16:
      return floating_text<Half>(element, 5);
    case ElementType::kF32:
      return floating_text<Floating<float>>(element, 9);
    case ElementType::kF64:
      return floating_text<Floating<double>>(element, 17);
    case ElementType::kBF16:
      return floating_text<BrainFloat>(element, 4);
    case ElementType::kCF32:
      return complex_text<float>(element, 9);
    case ElementType::kCF64:
      return complex_text<double>(element, 17);
  }
  return to_hex(element);
}

}  // namespace mneme::verify
