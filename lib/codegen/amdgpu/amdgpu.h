// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// IR of HIP kernels to code objects that AMD's driver loads. Neither a GPU nor ROCm is needed.
#pragma once
#include <string>

#include "bundle/format.h"

namespace mneme::codegen::amdgpu {

struct Result {
  std::string code_object;
  bundle::Resources resources;
  std::string ir, assembly;         // after the pipeline has run, if asked for
  std::vector<std::string> passes;  // that ran and were skipped, by number, where the configuration limits them
};

// As clang would generate it from the same IR at the same level. The target is "hip:gfx90a" or any that target_id.h
// parses; IR of another of AMD's processors is made this one's (retarget.h). `instance`: whose values it is specialised
// to, where the configuration says so; else may be null. Throws Error, see codegen/compile.h.
Result compile(const bundle::KernelInfo& info, std::string_view ir, const bundle::Configuration& configuration,
               const bundle::InstanceInfo* instance, bool texts, bool embed = false);

// A code object of an object file, by lld in this process.
std::string link(const std::string& object);

}  // namespace mneme::codegen::amdgpu
