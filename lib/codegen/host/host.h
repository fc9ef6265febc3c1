// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Device IR to an x86-64 shared object (abi.h). Free of LLVM's headers, so that callers compile fast.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "bundle/format.h"

namespace mneme::codegen::host {

// The x86-64 level of this machine: "host:x86-64-v2", "-v3", "-v4".
std::string default_target();
// Throws Error unless it is one of them.
void check_target(const std::string& target);

struct Result {
  std::string code;  // the shared object
  std::string form;  // "loop" or "fiber"
  std::vector<bundle::StoreType> stores;
  std::string ir, assembly;           // what the shared object was made of, if asked for
  std::vector<std::string> remarks;   // as Code's (codegen/compile.h)
  std::vector<std::string> replaced;  // as replaced_functions gives them
};

// What else is wanted of a compilation.
struct Wishes {
  bool texts = false;                         // Result's `ir` and `assembly`
  std::vector<std::string> print_after = {};  // passes after which the IR goes to standard error
};

// The passes, in order (pipeline.h).
struct PassInfo {
  std::string name, functions, holds;
};
std::vector<PassInfo> pass_list();

// Whether the IR was compiled for a debugger: with debug information, and not to be optimised.
bool is_for_debugging(const bundle::KernelInfo& info, std::string_view ir);

// Compiles the kernel `info.name` in `ir` (bitcode or text). Deterministic. Throws Error with LLVM's
// own message for bad IR or a bad pipeline, and by name for an intrinsic that the host device lacks.
// Not confined: a caller handling a stranger's IR runs it in a confined child. `instance`: whose values it is
// specialised to, where the configuration says so; else may be null.
Result compile(const bundle::KernelInfo& info, std::string_view ir, const bundle::Configuration& configuration,
               const bundle::InstanceInfo* instance = nullptr, const Wishes& wishes = {});

// What the kernel stores through which pointer. Throws as compile() does, for what the host device lacks too.
std::vector<bundle::StoreType> stored_types(const bundle::KernelInfo& info, std::string_view ir);

// Of a kernel for AMD's GPUs, the mathematical functions in whose place the host device computes others, with other
// bits: "pow_f32". Sorted; empty for others' kernels.
std::vector<std::string> replaced_functions(const bundle::KernelInfo& info, std::string_view ir);

}  // namespace mneme::codegen::host
