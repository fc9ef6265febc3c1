// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PTX to a cubin, the code that an NVIDIA GPU runs, with what the machine has of NVIDIA's for it; none of it is needed
// to build.
#pragma once
#include <optional>
#include <string>

#include "bundle/format.h"

namespace mneme::codegen::nvptx {

struct Assembler {
  std::string kind;     // as in a configuration: "ptxas", "nvjitlink"
  std::string version;  // "13.0.88"
  std::string path;
};

// `wanted` is one of them, or "auto": ptxas where there is one, else nvJitLink. It is ptxas that has assembled the
// application, and it sees all of a kernel's code at once, as the driver's compiler does; nvJitLink compiles functions
// that can be linked, which may take far more registers. They are looked for in a CUDA toolkit (base/cuda_toolkit.h),
// then in PATH and where the loader looks. Nothing: there is none. Throws Error (Exit::kMissing) where that one is
// missing that is named.
std::optional<Assembler> find_assembler(const std::string& wanted);

struct Assembled {
  std::string cubin;
  bundle::Resources resources;
};

// In a confined process: PTX made of a stranger's IR is a stranger's, too. Throws Error with what the assembler says.
Assembled assemble(const Assembler& assembler, const bundle::KernelInfo& kernel, const std::string& ptx,
                   const bundle::Configuration& configuration);

// Adds to what a cubin says what the assembler says of spilled registers and of shared memory.
void read_assemblers_log(const std::string& log, const std::string& kernel, bundle::Resources& resources);

}  // namespace mneme::codegen::nvptx
