// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/nvptx/numbered_functions.h"

#include <llvm/IR/IRBuilder.h>

#include <map>

#include "ir/address_variable.h"

namespace mneme::codegen::nvptx {
namespace {

llvm::Function* add_function(llvm::Module& module, const std::string& name, llvm::ArrayRef<llvm::Type*> parameters,
                             llvm::GlobalValue::LinkageTypes linkage) {
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), parameters, /*isVarArg=*/false);
  auto* function = llvm::Function::Create(type, linkage, name, module);
  llvm::ReturnInst::Create(module.getContext(), llvm::BasicBlock::Create(module.getContext(), "", function));
  return function;
}

// By place.
std::map<uint64_t, llvm::Function*> functions_by_place(llvm::Module& module, const bundle::KernelInfo& info) {
  std::map<uint64_t, llvm::Function*> places;
  for (const std::string& name : info.functions) {
    uint64_t address = objects::recorded_address(info, name);
    if (address == 0) continue;
    llvm::Function* function = module.getFunction(name);
    places.emplace(address / objects::kPlaceStep, function && !function->isDeclaration() ? function : nullptr);
  }
  return places;
}

}  // namespace

void number_functions(llvm::Module& module, const bundle::KernelInfo& info) {
  std::map<uint64_t, llvm::Function*> places = functions_by_place(module, info);
  if (places.empty()) return;
  llvm::Type* pointer = llvm::PointerType::get(module.getContext(), 0);
  auto external = llvm::GlobalValue::ExternalLinkage, internal = llvm::GlobalValue::InternalLinkage;
  llvm::Function* kernel = add_function(module, "__mneme_functions", {pointer}, external);
  ir::make_kernel(*kernel);
  // External and never inlined: the assembler looks at such functions before it does at kernels.
  llvm::Function* taker = add_function(module, "__mneme_take_functions", {pointer}, external);
  taker->addFnAttr(llvm::Attribute::NoInline);
  llvm::CallInst::Create(taker, {kernel->getArg(0)}, "", kernel->front().getTerminator());
  llvm::IRBuilder<> builder(taker->front().getTerminator());
  for (uint64_t place = 1; place <= places.rbegin()->first; ++place) {
    llvm::Function*& function = places[place];
    if (function) {
      ir::add_address_variable(*function);
    } else {
      function = add_function(module, "__mneme_nothing_" + std::to_string(place), {}, internal);
    }
    builder.CreateStore(function, taker->getArg(0), /*isVolatile=*/true);
  }
  // Its caller comes first: then it is declared before all others.
  for (llvm::Function* function : {taker, kernel}) {
    function->removeFromParent();
    module.getFunctionList().push_front(function);
  }
}

}  // namespace mneme::codegen::nvptx
