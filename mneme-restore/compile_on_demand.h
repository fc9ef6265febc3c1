// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <set>
#include <string>
#include <vector>

#include "bundle/reader.h"

namespace mneme::restore {

// A kernel that a program can run, and what its variants are compiled for.
struct Compiled {
  bundle::KernelMember kernel;
  std::set<std::string> targets;  // "host:x86-64-v3", "cuda:sm_90"
};

// The code that the options --baseline and --check-memory of a program run: of each kernel the recorded code for each
// device that it has a variant for, and a variant that checks accesses on the host device; for the least of the
// processors that its variants are for. mneme-compile makes them, in a process of its own; what it cannot compile is
// left out, with a warning. Throws Error where there is no mneme-compile.
std::vector<bundle::VariantMember> compile_on_demand(const std::vector<Compiled>& kernels,
                                                     const bundle::BundleInfo& recording);

}  // namespace mneme::restore
