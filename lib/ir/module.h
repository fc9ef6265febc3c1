// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

#include <memory>
#include <string>
#include <string_view>

namespace mneme::ir {

// Parses and verifies LLVM IR, bitcode or text, told apart by its first bytes. Throws Error with LLVM's
// message; `where` names the IR in it.
std::unique_ptr<llvm::Module> load_module(llvm::LLVMContext& context, std::string_view ir, const std::string& where);

// The IR as text.
std::string print_module(const llvm::Module& module);

// The IR as bitcode.
std::string write_bitcode(const llvm::Module& module);

// Throws Error with the verifier's message: "<what> is not valid IR: …".
void verify_module(const llvm::Module& module, const std::string& what);

}  // namespace mneme::ir
