// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/neutral.h"

#include <llvm/IR/InstIterator.h>

#include <array>

namespace mneme::codegen::host {
namespace {

constexpr std::array<llvm::StringLiteral, 4> kQueryNames = {"mneme.local.id.", "mneme.group.id.", "mneme.local.size.",
                                                            "mneme.group.count."};
constexpr llvm::StringLiteral kImplicit = "mneme.implicit";
constexpr llvm::StringLiteral kDispatch = "mneme.dispatch";
constexpr llvm::StringLiteral kBarrier = "mneme.barrier";
constexpr llvm::StringLiteral kItemOrdered = "mneme.ordered";
constexpr llvm::StringLiteral kMemoryAttribute = "mneme-memory";
constexpr std::array<llvm::StringLiteral, 4> kMemoryNames = {"private", "device", "shared", "dynamic"};

llvm::Module& module_of(llvm::IRBuilderBase& builder) { return *builder.GetInsertBlock()->getModule(); }

// A function of its arguments only: free to be moved, merged and hoisted.
llvm::FunctionCallee declare_pure(llvm::Module& module, llvm::StringRef name, llvm::Type* type) {
  llvm::FunctionCallee callee = module.getOrInsertFunction(name, type);
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotAccessMemory();
  function->setDoesNotThrow();
  function->setWillReturn();
  function->setSpeculatable();
  return callee;
}

}  // namespace

llvm::Value* call_query(llvm::IRBuilderBase& builder, Query query, unsigned dimension) {
  std::string name = (kQueryNames[static_cast<size_t>(query)] + llvm::Twine("xyz"[dimension])).str();
  return builder.CreateCall(declare_pure(module_of(builder), name, builder.getInt32Ty()));
}

llvm::Value* call_implicit(llvm::IRBuilderBase& builder) {
  return builder.CreateCall(declare_pure(module_of(builder), kImplicit, builder.getPtrTy()));
}

llvm::Value* call_dispatch(llvm::IRBuilderBase& builder) {
  return builder.CreateCall(declare_pure(module_of(builder), kDispatch, builder.getPtrTy()));
}

void call_barrier(llvm::IRBuilderBase& builder) {
  llvm::FunctionCallee callee = module_of(builder).getOrInsertFunction(kBarrier, builder.getVoidTy());
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setConvergent();
  function->setDoesNotThrow();
  builder.CreateCall(callee)->setConvergent();
}

std::optional<Operation> operation_of(const llvm::Function& function) {
  llvm::StringRef name = function.getName();
  if (!name.starts_with("mneme.")) return std::nullopt;
  if (name == kImplicit) return Operation{OperationKind::kImplicit, {}, 0};
  if (name == kDispatch) return Operation{OperationKind::kDispatch, {}, 0};
  if (name == kBarrier) return Operation{OperationKind::kBarrier, {}, 0};
  for (size_t i = 0; i < kQueryNames.size(); ++i) {
    if (name.starts_with(kQueryNames[i])) {
      return Operation{OperationKind::kQuery, static_cast<Query>(i), static_cast<unsigned>(name.back() - 'x')};
    }
  }
  return std::nullopt;
}

std::vector<std::pair<llvm::CallInst*, Operation>> operations_in(llvm::Function& function) {
  std::vector<std::pair<llvm::CallInst*, Operation>> found;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (!call || !call->getCalledFunction()) continue;
    if (auto operation = operation_of(*call->getCalledFunction())) found.emplace_back(call, *operation);
  }
  return found;
}

void set_memory_class(llvm::GlobalVariable& variable, MemoryClass memory) {
  variable.addAttribute(kMemoryAttribute, kMemoryNames[static_cast<size_t>(memory)]);
}

void mark_item_ordered(llvm::Instruction& access) {
  access.setMetadata(kItemOrdered, llvm::MDNode::get(access.getContext(), {}));
}

bool is_item_ordered(const llvm::Instruction& access) { return access.hasMetadata(kItemOrdered); }

MemoryClass memory_class(const llvm::GlobalVariable& variable) {
  llvm::StringRef name = variable.getAttribute(kMemoryAttribute).getValueAsString();
  for (size_t i = 0; i < kMemoryNames.size(); ++i) {
    if (name == kMemoryNames[i]) return static_cast<MemoryClass>(i);
  }
  return MemoryClass::kPrivateConstant;
}

}  // namespace mneme::codegen::host
