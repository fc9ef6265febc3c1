// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code that no IR is compiled to: what ran, of kernels that were recorded without IR; what an assembler makes of their
// PTX; and code that --code gives, of any kernel.
#pragma once
#include <optional>
#include <string>

#include "bundle/reader.h"
#include "codegen/compile.h"
#include "objects/ptx.h"
#include "wanted.h"

namespace mneme::compile {

// What --code gives.
struct GivenCode {
  std::string bytes;
  Digest digest;
  bool is_ptx = false;
  std::string processor;  // "sm_90"; empty: it does not say
};

// "cuda:sm_90" of "sm_90", also of processors that LLVM does not know; empty: it is no NVIDIA GPU's.
std::string nvidia_target(const std::string& text);

// Where a kernel's arguments lie. The second throws Error, which names `what`, where the recorded ones lie elsewhere.
objects::Parameters parameters_of(const bundle::KernelInfo& kernel);
void check_parameters(const bundle::KernelInfo& kernel, const objects::Parameters& found, const char* what);

// Throws Error for what is neither a cubin nor PTX.
GivenCode given_code(const std::string& path);

// Whether IR has to be compiled for it: it says how, or for which target that the code is not for.
bool needs_ir(const bundle::KernelInfo& kernel, const Asked& asked);

// The configuration in the form that such code has. One that needs IR stays as it was asked for, and Wanted::refused
// names the kernel and what needs it; and `unliftable`, where it is known why no IR can be made of the kernel's PTX.
// Throws Error on what is wrong for any kernel.
Wanted wanted_code(const bundle::KernelInfo& kernel, const Asked& asked, const GivenCode* given, Normaliser& normaliser,
                   const std::string& unliftable = {});

// The code of such a configuration. Throws Error with Wanted::refused, with what an assembler says, and where --code's
// has no such kernel, or one with other parameters.
codegen::Code code_of(const bundle::KernelMember& kernel, const Wanted& wanted, const GivenCode* given);

}  // namespace mneme::compile
