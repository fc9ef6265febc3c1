// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PTX's constant expressions of integers: (1 + 2) * 3, ~0x7f, 4 < 5 ? 6 : 7, .u64(-1).
#pragma once
#include <llvm/ADT/StringRef.h>

#include <optional>

namespace mneme::codegen::ptx {

// The bits of its value, of 64. Nothing: it is no such expression.
std::optional<uint64_t> ptx_integer(llvm::StringRef text);

}  // namespace mneme::codegen::ptx
