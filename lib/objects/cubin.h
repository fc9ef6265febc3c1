// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bundle/format.h"
#include "objects/embedded.h"
#include "objects/ptx.h"

namespace mneme::objects {

// What a cubin says that its kernel takes: registers, its stack frame, shared memory of fixed size, and banks of
// constants (those of the kernel's own, and those that everything in the cubin shares). What only the assembler's
// messages tell is left 0. Throws Error on a malformed cubin, and where it has no such kernel.
bundle::Resources resources_in_cubin(Bytes cubin, const std::string& kernel, const std::string& where);

// As elf_variable() of a cubin, in which symbols lie in sections and not at addresses.
std::optional<ElfVariable> cubin_variable(Bytes cubin, std::string_view name, const std::string& where);

// The processor that it is for: "sm_90", "sm_90a". Empty: it is no cubin, or of a form that is not known.
std::string processor_of_cubin(Bytes cubin);

// Whether it has the code of a kernel of that name. Throws Error on a malformed cubin.
bool has_kernel(Bytes cubin, const std::string& kernel, const std::string& where);

// Where the kernel's parameters lie. nullopt: there is no such kernel, or its assembler did not say. Throws Error as
// above.
std::optional<Parameters> parameters_in_cubin(Bytes cubin, const std::string& kernel, const std::string& where);

// Its variables in global and constant memory, by name. Throws Error as above.
std::vector<bundle::Global> variables_in_cubin(Bytes cubin, const std::string& where);

// Whether the kernel, or a function that it may call, calls that one of the driver's, such as malloc. Throws Error as
// above.
bool calls_in_cubin(Bytes cubin, const std::string& kernel, std::string_view function, const std::string& where);

// Whether the kernel, or a function that it calls by name, has instructions on textures or surfaces. Code for processors
// before sm_70 is not looked at: its instructions are of another form. Throws Error as above.
bool uses_textures_in_cubin(Bytes cubin, const std::string& kernel, const std::string& where);

}  // namespace mneme::objects
