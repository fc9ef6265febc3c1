// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From PTX to LLVM IR, in the NVPTX dialect that clang emits: a kernel of nvcc's or Triton's becomes one with IR.
// Deterministic. Not confined: a caller handling a stranger's text runs it in a confined child.
#pragma once
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/Module.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mneme::codegen::ptx {

struct Lifted {
  std::unique_ptr<llvm::Module> module;
  std::vector<std::string> kernels;  // that the text defines, in order
  // Functions and kernels that the module declares at most, by name: why they could not be lifted.
  std::map<std::string, std::string> refused;
};

// All functions of the text, and the variables that they use. A text of several files, one behind the other, is of
// units that are linked. Throws Error, which names the line, for text that is no PTX.
Lifted lift(llvm::LLVMContext& context, std::string_view text);

// The kernel of that name with what it uses, as bitcode. Throws Error where it is not there, or could not be lifted.
std::string lift_kernel(std::string_view text, const std::string& kernel);

// Why a kernel could not be lifted: for its own sake, or for something of the module that it `uses`. Empty: it has
// been.
std::string why_refused(const Lifted& lifted, const std::string& kernel,
                        llvm::function_ref<bool(const llvm::GlobalValue&)> uses);

}  // namespace mneme::codegen::ptx
