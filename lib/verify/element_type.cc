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
  return with_format(type, [&](auto format) {
    const auto value = format.read(element.data());
    if constexpr (requires { value.imag(); }) {
      constexpr int kDigits = decltype(format)::Part::kDigits;
      return fmt::format("({:.{}g}, {:.{}g})", value.real(), kDigits, value.imag(), kDigits);
    } else if constexpr (decltype(format)::kIsInteger) {
      return fmt::format("{}", value);
    } else {
      return fmt::format("{:.{}g}", value, decltype(format)::kDigits);
    }
  });
}

}  // namespace mneme::verify
