// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>

#include "bundle/format.h"
#include "codegen/compile.h"
#include "codegen/nvptx/assembler.h"

namespace mneme::compile {

// codegen::compile() in a confined child process: the IR may come from a stranger, and a compiler that
// crashes over it costs an Error, not the tool.
codegen::Code compile_confined(const bundle::KernelInfo& kernel, std::string_view ir,
                               const bundle::Configuration& configuration);

// Of PTX its cubin; likewise confined.
codegen::Code assemble_confined(const codegen::nvptx::Assembler& assembler, const bundle::KernelInfo& kernel,
                                codegen::Code code, const bundle::Configuration& configuration);

}  // namespace mneme::compile
