// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <optional>
#include <string>

#include "bundle/format.h"
#include "codegen/compile.h"
#include "codegen/nvptx/assembler.h"

namespace mneme::compile {

using Assembler = codegen::nvptx::Assembler;

// codegen::compile() in a confined child process: the IR may come from a stranger, and a compiler that
// crashes over it costs an Error, not the tool.
codegen::Code compile_confined(const bundle::KernelInfo& kernel, std::string_view ir,
                               const bundle::Configuration& configuration, const codegen::Given& given = {});

// And, where there is an assembler, of PTX its cubin; likewise confined.
codegen::Code compile_confined(const bundle::KernelInfo& kernel, std::string_view ir,
                               const bundle::Configuration& configuration, const std::optional<Assembler>& assembler,
                               const codegen::Given& given = {});

// The cubin of code that is PTX, where there is an assembler.
codegen::Code assembled(const bundle::KernelInfo& kernel, codegen::Code code,
                        const bundle::Configuration& configuration, const std::optional<Assembler>& assembler);

// What is compiled as what one process tells another. decode() throws Error, naming `where`, on what is none.
std::string encode(const codegen::Code& code);
codegen::Code decode(std::string_view text, const std::string& where);

// "compiling the kernel 'k()' with 'default<O3>'": reads ahead of "was killed by …".
std::string compiling(const bundle::KernelInfo& kernel, const bundle::Configuration& configuration);

}  // namespace mneme::compile
