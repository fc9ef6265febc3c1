// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pass/stores.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "ir/store_types.h"

namespace mneme::inject {
namespace {

constexpr unsigned kSharedSpace = 3;  // for AMDGPU and NVPTX

// Whether it may store, and nobody here can tell what.
bool stores_unknown(const llvm::CallBase& call) {
  if (call.isInlineAsm()) return true;
  const llvm::Function* callee = call.getCalledFunction();
  if (!callee) return true;
  if (call.onlyReadsMemory()) return false;
  // The host device's compiler has code of its own in place of these.
  if (!callee->isDeclaration()) return callee->getName().starts_with("__ockl_");
  auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&call);
  if (!intrinsic) return true;
  if (intrinsic->isAssumeLikeIntrinsic() || llvm::isa<llvm::MemIntrinsic>(intrinsic)) return false;
  if (call.onlyAccessesInaccessibleMemory()) return false;
  // Barriers have none. Memory need not be meant by a pointer: AMD's buffers have descriptors.
  return llvm::any_of(call.args(), [](const llvm::Use& given) { return !llvm::isa<llvm::Constant>(given); });
}

// Whether bits come out of it of which their type does not tell what they are: what a texture holds, or another lane,
// or a function that was not inlined makes. The vendors' mathematics makes numbers.
bool gives_unknown(const llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  if (!callee) return true;
  if (!callee->isIntrinsic())
    return !callee->getName().starts_with("__ocml_") && !callee->getName().starts_with("__nv_");
  if (!callee->isTargetIntrinsic() || call.arg_empty()) return false;
  return call.isConvergent() || !call.doesNotAccessMemory() || call.getType()->isIntOrIntVectorTy();
}

// Looks through what puts values together and chooses among them.
bool is_unknown(const llvm::Value* value, const llvm::Function* kernel) {
  llvm::SmallPtrSet<const llvm::Value*, 8> seen;
  llvm::SmallVector<const llvm::Value*, 8> open{value};
  while (!open.empty()) {
    const llvm::Value* next = open.pop_back_val();
    auto* argument = llvm::dyn_cast<llvm::Argument>(next);
    if (argument && argument->getParent() != kernel) return true;
    auto* user = llvm::dyn_cast<llvm::User>(next);
    if (!user || !seen.insert(user).second) continue;
    auto* call = llvm::dyn_cast<llvm::CallBase>(user);
    if (call && gives_unknown(*call)) return true;
    if (ir::puts_together(*user)) open.append(user->value_op_begin(), user->value_op_end());
  }
  return false;
}

bool is_unknown(const llvm::Instruction& instruction, const llvm::Function* kernel) {
  auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
  return store && is_unknown(store->getValueOperand(), kernel);
}

bool has_unknown_call(const llvm::Function& function) {
  return llvm::any_of(llvm::instructions(function), [](const llvm::Instruction& instruction) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    return call && stores_unknown(*call);
  });
}

}  // namespace

std::optional<std::vector<bundle::StoreType>> stores_of(const llvm::Module& closure, const llvm::Module& simplified,
                                                        const bundle::KernelInfo& info) {
  if (llvm::any_of(closure, has_unknown_call)) return std::nullopt;
  const llvm::Function* kernel = simplified.getFunction(info.name);
  for (const llvm::Function& function : simplified) {
    auto unknown = [&](const llvm::Instruction& instruction) { return is_unknown(instruction, kernel); };
    if (llvm::any_of(llvm::instructions(function), unknown)) return std::nullopt;
  }
  return ir::store_types(simplified, info, [](const llvm::GlobalVariable& variable) {
    return variable.getAddressSpace() == kSharedSpace;
  });
}

}  // namespace mneme::inject
