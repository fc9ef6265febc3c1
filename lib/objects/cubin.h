// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "bundle/format.h"
#include "objects/embedded.h"

namespace mneme::objects {

// What a cubin says that its kernel takes: registers, its stack frame, and banks of constants (those of the kernel's
// own, and those that everything in the cubin shares). What only the assembler's messages tell is left 0. Throws Error
// on a malformed cubin, and where it has no such kernel.
bundle::Resources resources_in_cubin(Bytes cubin, const std::string& kernel, const std::string& where);

// As elf_variable() of a cubin, in which symbols lie in sections and not at addresses.
std::optional<ElfVariable> cubin_variable(Bytes cubin, std::string_view name, const std::string& where);

}  // namespace mneme::objects
