// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/dialect/kept_registers.h"

#include <llvm/IR/Instructions.h>
#include <llvm/Support/AMDGPUAddrSpace.h>

#include <map>
#include <vector>

#include "base/error.h"

namespace mneme::codegen::host {
namespace {

struct Row {
  const char *read, *write, *name;
  bool begins;  // a kernel may read what it never wrote: zero
};
constexpr Row kRows[] = {{"mneme.carry.read", "mneme.carry.write", "adds a carry", true},
                         {"mneme.m0.read", "mneme.m0.write", "reads an m0", false}};

const Row& row_of(Kept which) { return kRows[static_cast<size_t>(which)]; }

llvm::Type* type_of(llvm::LLVMContext& context, Kept which) {
  if (which == Kept::kCarry) return llvm::Type::getInt1Ty(context);
  return llvm::PointerType::get(context, llvm::AMDGPUAS::LOCAL_ADDRESS);
}

// Calls of the function, by the function that they are in.
std::map<llvm::Function*, std::vector<llvm::CallInst*>> calls_of(llvm::Function* function) {
  std::map<llvm::Function*, std::vector<llvm::CallInst*>> calls;
  if (!function) return calls;
  for (llvm::User* user : function->users()) {
    auto* call = llvm::cast<llvm::CallInst>(user);
    calls[call->getFunction()].push_back(call);
  }
  return calls;
}

void place(llvm::Module& module, const bundle::KernelInfo& kernel, const Row& row) {
  llvm::Function *read = module.getFunction(row.read), *write = module.getFunction(row.write);
  auto reads = calls_of(read), writes = calls_of(write);
  for (auto& [function, calls] : writes) {
    llvm::IRBuilder<> builder(&*function->getEntryBlock().getFirstInsertionPt());
    llvm::Type* type = write->getArg(0)->getType();
    llvm::Value* variable = builder.CreateAlloca(type);
    builder.CreateStore(llvm::Constant::getNullValue(type), variable);
    for (llvm::CallInst* call : calls) {
      builder.SetInsertPoint(call);
      builder.CreateStore(call->getArgOperand(0), variable);
      call->eraseFromParent();
    }
    for (llvm::CallInst* call : reads[function]) {
      builder.SetInsertPoint(call);
      call->replaceAllUsesWith(builder.CreateLoad(type, variable));
      call->eraseFromParent();
    }
    reads.erase(function);
  }
  for (const auto& [function, calls] : reads) {
    if (function->getName() != kernel.name || !writes.empty() || !row.begins) {
      throw Error::of("kernel '{}' has inline assembly in {} that {} {}, which the host device does not have",
                      kernel.demangled, function->getName().str(), row.name,
                      function->getName() == kernel.name ? "which it never sets" : "of another function's");
    }
    for (llvm::CallInst* call : calls) {
      call->replaceAllUsesWith(llvm::Constant::getNullValue(call->getType()));
      call->eraseFromParent();
    }
  }
  for (llvm::Function* function : {read, write}) {
    if (function) function->eraseFromParent();
  }
}

}  // namespace

llvm::Value* read_kept(llvm::IRBuilderBase& builder, Kept which) {
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  return builder.CreateCall(module.getOrInsertFunction(row_of(which).read, type_of(builder.getContext(), which)));
}

void write_kept(llvm::IRBuilderBase& builder, Kept which, llvm::Value* value) {
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  builder.CreateCall(module.getOrInsertFunction(row_of(which).write, builder.getVoidTy(), value->getType()), value);
}

void place_kept_registers(llvm::Module& module, const bundle::KernelInfo& kernel) {
  for (const Row& row : kRows) place(module, kernel, row);
}

}  // namespace mneme::codegen::host
