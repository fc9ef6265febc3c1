// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pass/kernel_functions.h"

#include <llvm/IR/CallingConv.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Metadata.h>

namespace mneme::inject {
namespace {

constexpr char kAnnotations[] = "nvvm.annotations";  // !{function, key, value[, key, value…]}

const llvm::Function* function_of(const llvm::MDNode& annotation) {
  if (annotation.getNumOperands() == 0) return nullptr;
  return llvm::mdconst::dyn_extract_or_null<llvm::Function>(annotation.getOperand(0));
}

bool says_kernel(const llvm::MDNode& annotation) {
  for (unsigned i = 1; i + 1 < annotation.getNumOperands(); i += 2) {
    auto* key = llvm::dyn_cast_or_null<llvm::MDString>(annotation.getOperand(i));
    auto* value = llvm::mdconst::dyn_extract_or_null<llvm::ConstantInt>(annotation.getOperand(i + 1));
    if (key && key->getString() == "kernel" && value && value->isOne()) return true;
  }
  return false;
}

}  // namespace

KernelFunctions kernels_in(const llvm::Module& module) {
  KernelFunctions kernels;
  for (const llvm::Function& function : module) {
    auto convention = function.getCallingConv();
    if (convention != llvm::CallingConv::AMDGPU_KERNEL && convention != llvm::CallingConv::PTX_Kernel) continue;
    if (!function.isDeclaration()) kernels.insert(&function);
  }
  if (const llvm::NamedMDNode* annotations = module.getNamedMetadata(kAnnotations)) {
    for (const llvm::MDNode* annotation : annotations->operands()) {
      const llvm::Function* function = function_of(*annotation);
      if (function && !function->isDeclaration() && says_kernel(*annotation)) kernels.insert(function);
    }
  }
  return kernels;
}

void forget_missing_functions(llvm::Module& module) {
  llvm::NamedMDNode* annotations = module.getNamedMetadata(kAnnotations);
  if (!annotations) return;
  llvm::SmallVector<llvm::MDNode*, 16> kept;
  for (llvm::MDNode* annotation : annotations->operands()) {
    bool present = annotation->getNumOperands() > 0 &&
                   llvm::mdconst::dyn_extract_or_null<llvm::GlobalValue>(annotation->getOperand(0));
    if (present) kept.push_back(annotation);
  }
  annotations->clearOperands();
  for (llvm::MDNode* annotation : kept) annotations->addOperand(annotation);
  if (kept.empty()) module.eraseNamedMetadata(annotations);
}

}  // namespace mneme::inject
