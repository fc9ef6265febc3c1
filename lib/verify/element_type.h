// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/digest.h"

namespace mneme::verify {

// How bytes are read as numbers; little-endian. In the order of mneme::BuiltinDType (annotate/mneme/).
enum class ElementType { kU8, kI8, kU16, kI16, kU32, kI32, kU64, kI64, kF16, kF32, kF64, kBF16, kCF32, kCF64 };
inline constexpr size_t kElementTypes = 14;

// As annotations and options spell it: "u8", … "f64", "bf16", and "cf32" and "cf64" for complex numbers, the real part
// first.
std::string_view name_of(ElementType type);
std::optional<ElementType> element_type(std::string_view name);
size_t size_of(ElementType type);  // bytes
bool is_complex(ElementType type);

// One element for people, exact for its type: "-1.5", "17", "(0, 1)"; its bytes if they are not of its size.
std::string element_text(ElementType type, Bytes element);

}  // namespace mneme::verify
