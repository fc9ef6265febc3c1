// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// IR of CUDA kernels to PTX, the assembly that NVIDIA's driver takes. No toolkit is needed.
#pragma once
#include <string>

#include "bundle/format.h"

namespace mneme::codegen::nvptx {

// "sm_70", "sm_90a", …, as far as this LLVM has them.
bool is_processor(const std::string& name);

struct Result {
  std::string ptx;
  std::string ir;                   // what the PTX was made of, if asked for
  std::vector<std::string> passes;  // that ran and were skipped, by number, where the configuration limits them
};

// As clang would generate it from the same IR at the same level. The target is "cuda:sm_…". `instance`: whose values it
// is specialised to, where the configuration says so; else may be null. Throws Error, see codegen/compile.h.
Result compile(const bundle::KernelInfo& info, std::string_view ir, const bundle::Configuration& configuration,
               const bundle::InstanceInfo* instance, bool texts);

}  // namespace mneme::codegen::nvptx
