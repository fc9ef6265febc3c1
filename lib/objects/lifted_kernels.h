// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels that no compiler of ours has seen, from the PTX in their fat binary, by the program mneme-lift.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/process.h"
#include "objects/embedded.h"

namespace mneme::objects {

// Of a kernel without IR.
inline bool has_ptx(const bundle::KernelInfo& kernel) { return kernel.code == bundle::kPtxFile || !kernel.ptx.empty(); }

struct LiftedKernels {
  std::string records;                         // as embedded.h has them
  std::map<std::string, std::string> refused;  // by name: why a kernel is not among them
};

using RunCommand = std::function<CommandResult(const std::vector<std::string>& argv, Bytes input)>;

// All kernels of a PTX text, or the one of that name. Throws Error where it is no PTX, and where mneme-lift cannot be
// run.
LiftedKernels lift_kernels(Bytes ptx, const std::string& kernel = {}, const RunCommand& run = {});

// One kernel of it. Throws Error with the reason where there is none.
struct LiftedKernel {
  bundle::KernelInfo info;
  std::string bitcode;
};
LiftedKernel lift_kernel(Bytes ptx, const std::string& kernel);

}  // namespace mneme::objects
