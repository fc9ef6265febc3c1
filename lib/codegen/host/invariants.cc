// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/invariants.h"

#include <fmt/format.h>
#include <llvm/ADT/SCCIterator.h>
#include <llvm/Analysis/CallGraph.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include <optional>

#include "codegen/host/abi.h"
#include "codegen/host/analysis/promoted_copy.h"
#include "codegen/host/neutral/fixed_launch.h"
#include "codegen/host/neutral/neutral.h"
#include "codegen/host/semantics/dynamic_locals.h"
#include "codegen/host/sync/wait_loops.h"

namespace mneme::codegen::host {
namespace {

std::string text_of(const llvm::Instruction& instruction) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  instruction.print(stream);
  return fmt::format("'{}' in '{}'", llvm::StringRef(text).trim().str(), instruction.getFunction()->getName().str());
}

// The first instruction that breaks a promise.
std::string find(const Compilation& compilation, llvm::function_ref<bool(const llvm::Instruction&)> breaks) {
  for (const llvm::Function& function : *compilation.module) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      if (breaks(instruction)) return "it has " + text_of(instruction);
    }
  }
  return "";
}

bool is_call_of(const llvm::Instruction& instruction, llvm::function_ref<bool(const Operation&)> kind) {
  std::optional<Operation> operation = operation_at(instruction);
  return operation && kind(*operation);
}

bool is_memory_class(const llvm::Value* pointer, std::initializer_list<MemoryClass> classes) {
  auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(llvm::getUnderlyingObject(pointer));
  return variable && llvm::is_contained(classes, memory_class(*variable));
}

bool is_in_another_space(const llvm::Type* type) {
  type = type->getScalarType();
  return type->isPointerTy() && type->getPointerAddressSpace() != 0;
}

bool is_zero(const llvm::Value* value) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  return constant && constant->isNullValue();
}

const llvm::Value* atomic_pointer(const llvm::Instruction& instruction) {
  if (!instruction.isAtomic()) return nullptr;
  if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) return update->getPointerOperand();
  if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) return exchange->getPointerOperand();
  return llvm::getLoadStorePointerOperand(&instruction);
}

}  // namespace

std::string vendor_operation(const Compilation& compilation) {
  return find(compilation, [](const llvm::Instruction& instruction) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (!call) return false;
    if (call->isInlineAsm()) return true;
    const llvm::Function* callee = call->getCalledFunction();
    return callee && llvm::any_of(std::initializer_list<llvm::StringRef>{"llvm.amdgcn.", "llvm.nvvm.", "llvm.r600."},
                                  [&](llvm::StringRef prefix) { return callee->getName().starts_with(prefix); });
  });
}

std::string address_space(const Compilation& compilation) {
  if (compilation.module->getDataLayout() != compilation.machine.createDataLayout()) {
    return "its data layout is not the host's";
  }
  for (const llvm::GlobalVariable& variable : compilation.module->globals()) {
    if (is_in_another_space(variable.getType())) return fmt::format("it has '{}'", variable.getName().str());
  }
  return find(compilation, [](const llvm::Instruction& instruction) {
    return is_in_another_space(instruction.getType()) || llvm::any_of(instruction.operands(), [](const llvm::Use& use) {
             return is_in_another_space(use->getType());
           });
  });
}

std::string indirect_call(const Compilation& compilation) {
  for (const llvm::Function& function : *compilation.module) {
    if (function.hasAddressTaken()) return fmt::format("the address of '{}' is taken", function.getName().str());
  }
  return find(compilation, [](const llvm::Instruction& instruction) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    return call && !call->getCalledFunction();
  });
}

std::string call_to_inline(const Compilation& compilation) {
  llvm::CallGraph graph(*compilation.module);
  llvm::SmallPtrSet<const llvm::Function*, 8> recursive;
  for (auto component = llvm::scc_begin(&graph); !component.isAtEnd(); ++component) {
    if (!component.hasCycle()) continue;
    for (const llvm::CallGraphNode* node : *component) recursive.insert(node->getFunction());
  }
  return find(compilation, [&](const llvm::Instruction& instruction) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    const llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
    return callee && !callee->isDeclaration() && callee->hasFnAttribute(llvm::Attribute::AlwaysInline) &&
           !recursive.contains(callee);
  });
}

std::string undefined_local(const Compilation& compilation) {
  return find(compilation, [](const llvm::Instruction& instruction) {
    auto* local = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (!local || is_dynamic_stack(*local)) return false;
    if (!llvm::isa<llvm::ConstantInt>(local->getArraySize())) return true;
    return llvm::none_of(instruction.users(), [&](const llvm::User* user) {
      if (auto* bytes = llvm::dyn_cast<llvm::MemSetInst>(user)) return is_zero(bytes->getValue());
      auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
      return store && store->getPointerOperand() == &instruction && is_zero(store->getValueOperand());
    });
  });
}

std::string promising_access(const Compilation& compilation) {
  bool any_alignment = !compilation.is_nvptx && !compilation.configuration.check_memory;
  return find(compilation, [&](const llvm::Instruction& instruction) {
    if (instruction.getType()->isIntegerTy(8) && instruction.hasMetadata(llvm::LLVMContext::MD_range)) {
      return llvm::isa<llvm::LoadInst>(instruction);
    }
    const llvm::Value* pointer = llvm::getLoadStorePointerOperand(&instruction);
    if (!any_alignment || !pointer || instruction.isAtomic()) return false;
    if (llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(pointer))) return false;
    return llvm::getLoadStoreAlignment(const_cast<llvm::Instruction*>(&instruction)) > llvm::Align();
  });
}

std::string end_of_item(const Compilation& compilation) {
  return llvm::any_of(*compilation.module, is_end) ? "it has 'mneme.end'" : "";
}

std::string unfixed_launch(const Compilation& compilation) {
  bool is_fixed = fixed_launch(*compilation.module).has_value();
  if (is_fixed == compilation.configuration.specialize_dims) return "";
  return is_fixed ? "it is for one launch only" : "it is for any launch";
}

std::string unguarded_arithmetic(const Compilation& compilation) {
  using namespace llvm::PatternMatch;
  const llvm::DataLayout& layout = compilation.module->getDataLayout();
  return find(compilation, [&](const llvm::Instruction& instruction) {
    auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(&instruction);
    if (!operation) return false;
    const llvm::Value* right = operation->getOperand(1);
    // What guard_divisions and guard_shifts make, else what is known by itself.
    auto* guarded = llvm::dyn_cast<llvm::SelectInst>(right);
    auto* condition = guarded ? const_cast<llvm::Value*>(guarded->getCondition()) : nullptr;
    if (operation->isIntDivRem()) {
      auto is_zero = m_SpecificICmp(llvm::ICmpInst::ICMP_EQ, m_Value(), m_Zero());
      if (guarded && match(condition, m_CombineOr(is_zero, m_c_Or(is_zero, m_Value())))) return false;
      return !llvm::isKnownNonZero(right, llvm::SimplifyQuery(layout, operation));
    }
    if (!operation->isShift()) return false;
    if (guarded &&
        match(condition, m_SpecificICmp(llvm::ICmpInst::ICMP_ULT, m_Specific(guarded->getTrueValue()), m_Constant()))) {
      return false;
    }
    return llvm::computeKnownBits(right, layout).getMaxValue().uge(operation->getType()->getScalarSizeInBits());
  });
}

std::string local_in_memory(const Compilation& compilation) {
  if (compilation.configuration.passes == "default<O0>") return "";
  return find(compilation, [](const llvm::Instruction& instruction) {
    auto* local = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    return local && llvm::isAllocaPromotable(local);
  });
}

std::string block_fence(const Compilation& compilation) {
  return find(compilation, [](const llvm::Instruction& instruction) {
    auto* fence = llvm::dyn_cast<llvm::FenceInst>(&instruction);
    return fence && within_block(*fence);
  });
}

std::string loop_without_yield(const Compilation& compilation) {
  std::vector<llvm::Function*> functions;  // copies come and go meanwhile
  for (llvm::Function& function : *compilation.module) {
    if (!function.isDeclaration()) functions.push_back(&function);
  }
  for (llvm::Function* function : functions) {
    PromotedCopy copy(*function);
    llvm::DominatorTree dominators(copy.function());
    llvm::LoopInfo loops(dominators);
    for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
      if (waits_for(*loop, dominators) == WaitsFor::kNobody) continue;
      bool yields = llvm::any_of(loop->blocks(), [](const llvm::BasicBlock* block) {
        return llvm::any_of(*block, [](const llvm::Instruction& at) { return is_call_of(at, is_yield); });
      });
      if (!yields) return fmt::format("a loop in '{}' waits and does not yield", function->getName().str());
    }
  }
  return "";
}

std::string shared_atomic(const Compilation& compilation) {
  return find(compilation, [](const llvm::Instruction& instruction) {
    const llvm::Value* pointer = atomic_pointer(instruction);
    return pointer && is_memory_class(pointer, {MemoryClass::kShared, MemoryClass::kSharedDynamic});
  });
}

std::string misplaced_collective(const Compilation& compilation) {
  return find(compilation, [&](const llvm::Instruction& instruction) {
    bool is_kernel = instruction.getFunction()->getName() == compilation.kernel.name;
    return is_call_of(instruction, is_convergence_point) && (compilation.fibers || !is_kernel);
  });
}

std::string service_call(const Compilation& compilation) {
  return find(compilation, [](const llvm::Instruction& instruction) {
    return is_call_of(instruction, [](const Operation& at) { return at.kind == OperationKind::kService; });
  });
}

std::string open_query(const Compilation& compilation) {
  return find(compilation, [](const llvm::Instruction& instruction) {
    return is_call_of(instruction, [](const Operation& at) {
      return at.kind == OperationKind::kQuery || at.kind == OperationKind::kImplicit ||
             at.kind == OperationKind::kDispatch || at.kind == OperationKind::kContext ||
             at.kind == OperationKind::kWaveMemory;
    });
  });
}

std::string block_variable(const Compilation& compilation) {
  for (const llvm::GlobalVariable& variable : compilation.module->globals()) {
    if (memory_class(variable) != MemoryClass::kPrivateConstant) {
      return fmt::format("it has the variable '{}'", variable.getName().str());
    }
  }
  return "";
}

std::string neutral_operation(const Compilation& compilation) {
  return find(compilation, [](const llvm::Instruction& instruction) {
    return is_call_of(instruction, [](const Operation&) { return true; });
  });
}

std::string number_operation(const Compilation& compilation) {
  if (!compilation.configuration.algebra) return "";
  return find(compilation, [](const llvm::Instruction& instruction) {
    const llvm::StringRef function = instruction.getFunction()->getName();
    if (function.starts_with("mneme_ring_") || function.starts_with("ring_")) return false;
    return llvm::isa<llvm::FCmpInst>(instruction) ||
           (llvm::isa<llvm::BinaryOperator>(instruction) && instruction.getType()->isFPOrFPVectorTy());
  });
}

std::string missing_export(const Compilation& compilation) {
  const llvm::GlobalVariable* object = compilation.module->getNamedGlobal(kEntrySymbol);
  if (!object || object->isDeclaration() || object->hasLocalLinkage()) {
    return fmt::format("it does not export '{}'", kEntrySymbol);
  }
  for (const llvm::Function& function : *compilation.module) {
    if (function.isDeclaration() && !function.use_empty() && function.getName().starts_with("mneme")) {
      return fmt::format("it does not define '{}'", function.getName().str());
    }
  }
  return "";
}

}  // namespace mneme::codegen::host
