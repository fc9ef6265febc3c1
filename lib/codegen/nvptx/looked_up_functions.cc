// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/nvptx/looked_up_functions.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <vector>

#include "objects/function_address.h"

namespace mneme::codegen::nvptx {
namespace {

using Addresses = std::map<uint64_t, llvm::Function*>;

bool is_indirect(const llvm::CallBase& call) {
  return !call.isInlineAsm() && !llvm::isa<llvm::Function>(call.getCalledOperand()->stripPointerCasts());
}

std::vector<llvm::CallBase*> indirect_calls(llvm::Module& module) {
  std::vector<llvm::CallBase*> calls;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (call && is_indirect(*call)) calls.push_back(call);
    }
  }
  return calls;
}

bool takes_address(const llvm::Use& use) {
  auto* call = llvm::dyn_cast<llvm::CallBase>(use.getUser());
  return !(call && call->isCallee(&use)) && !llvm::isa<llvm::GlobalAlias>(use.getUser());
}

// Those of the recording, and what else this code takes the address of.
Addresses addresses_in(llvm::Module& module, const bundle::KernelInfo& info) {
  Addresses addresses;
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || function.getName() == info.name) continue;
    const std::string name = function.getName().str();
    const bool listed = std::ranges::find(info.functions, name) != info.functions.end();
    if (!listed && !function.hasAddressTaken()) continue;
    addresses.emplace(objects::recorded_or_made_address(info, name), &function);
  }
  return addresses;
}

llvm::Function* make_lookup(llvm::Module& module, const Addresses& addresses) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* pointer = llvm::PointerType::get(context, 0);
  auto* lookup = llvm::Function::Create(llvm::FunctionType::get(pointer, {pointer}, /*isVarArg=*/false),
                                        llvm::GlobalValue::InternalLinkage, "__mneme_function_at", module);
  lookup->addFnAttr(llvm::Attribute::NoInline);
  auto block = [&](const char* name) { return llvm::BasicBlock::Create(context, name, lookup); };
  llvm::IRBuilder<> builder(block("entry"));
  llvm::BasicBlock* nowhere = block("nowhere");
  llvm::Value* number = builder.CreatePtrToInt(lookup->getArg(0), builder.getInt64Ty());
  llvm::SwitchInst* choice = builder.CreateSwitch(number, nowhere, static_cast<unsigned>(addresses.size()));
  for (const auto& [address, function] : addresses) {
    llvm::BasicBlock* found = block("found");
    choice->addCase(builder.getInt64(address), found);
    builder.SetInsertPoint(found);
    builder.CreateRet(function);
  }
  builder.SetInsertPoint(nowhere);
  builder.CreateIntrinsic(builder.getVoidTy(), llvm::Intrinsic::trap, {});
  builder.CreateUnreachable();
  return lookup;
}

}  // namespace

bool has_to_look_up(const bundle::KernelInfo& info, const std::string& assembler) {
  if (info.functions.empty()) return false;
  const auto is_known = [](uint64_t address) { return address != 0; };
  return assembler == "nvjitlink" || std::ranges::none_of(info.function_addresses, is_known) ||
         !std::ranges::all_of(info.function_addresses | std::views::filter(is_known), objects::is_place);
}

void look_up_functions(llvm::Module& module, const bundle::KernelInfo& info) {
  // They list functions, not addresses of functions. Nothing is dropped any more.
  for (const char* list : {"llvm.used", "llvm.compiler.used"}) {
    if (llvm::GlobalVariable* kept = module.getNamedGlobal(list)) kept->eraseFromParent();
  }
  const Addresses addresses = addresses_in(module, info);
  std::vector<llvm::CallBase*> calls = indirect_calls(module);
  for (const auto& [address, function] : addresses) {
    auto* number = llvm::ConstantInt::get(llvm::Type::getInt64Ty(module.getContext()), address);
    function->replaceUsesWithIf(llvm::ConstantExpr::getIntToPtr(number, function->getType()), takes_address);
  }
  if (calls.empty()) return;
  llvm::Function* lookup = make_lookup(module, addresses);
  for (llvm::CallBase* call : calls) {
    call->setCalledOperand(llvm::CallInst::Create(lookup, {call->getCalledOperand()}, "", call->getIterator()));
  }
}

}  // namespace mneme::codegen::nvptx
