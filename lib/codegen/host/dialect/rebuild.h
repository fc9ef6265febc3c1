// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/IRBuilder.h>

namespace mneme::codegen::host {

// Empties a function of a device library that is to be written anew, and inlined.
inline llvm::IRBuilder<> rebuild(llvm::Function& function) {
  function.deleteBody();
  function.setLinkage(llvm::GlobalValue::InternalLinkage);
  function.setComdat(nullptr);
  function.removeFnAttr(llvm::Attribute::NoInline);
  function.removeFnAttr(llvm::Attribute::OptimizeNone);
  function.addFnAttr(llvm::Attribute::AlwaysInline);
  return llvm::IRBuilder<>(llvm::BasicBlock::Create(function.getContext(), "", &function));
}

}  // namespace mneme::codegen::host
