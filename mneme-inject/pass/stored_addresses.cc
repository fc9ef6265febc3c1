// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pass/stored_addresses.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include <vector>

#include "pass/origins.h"

namespace mneme::inject {
namespace {

// What a value has to do with the constant that is looked at.
enum Relation : unsigned {
  kIsAddress = 1,   // it is, or holds, an address of it, or one that lies in it
  kLeadsThere = 2,  // it is an address of memory that holds such
};

class Flow {
 public:
  explicit Flow(const llvm::Module& module) : layout_(module.getDataLayout()) {
    for (const llvm::Function& function : module) {
      if (!function.isDeclaration() && function.hasAddressTaken()) by_pointer_.push_back(&function);
      for (const llvm::Instruction& instruction : llvm::instructions(function)) {
        auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        if (call && call->isIndirectCall()) indirect_calls_.push_back(call);
      }
    }
  }

  bool reaches_memory(const llvm::GlobalVariable& constant) {
    known_.clear();
    pending_.clear();
    reached_ = false;
    add(constant, kIsAddress | (holds_addresses(*constant.getInitializer()) ? kLeadsThere : 0));
    while (!reached_ && !pending_.empty()) {
      const llvm::Value* value = pending_.pop_back_val();
      for (const llvm::Use& use : value->uses()) follow(use, known_.lookup(value));
    }
    return reached_;
  }

 private:
  static bool holds_addresses(const llvm::Constant& contents) {
    if (llvm::isa<llvm::GlobalValue>(contents)) return true;
    return llvm::any_of(contents.operands(), [](const llvm::Use& part) {
      auto* constant = llvm::dyn_cast<llvm::Constant>(part);
      return constant && holds_addresses(*constant);
    });
  }

  void add(const llvm::Value& value, unsigned relation) {
    unsigned& known = known_[&value];
    if ((known | relation) == known) return;
    known |= relation;
    pending_.push_back(&value);
  }

  // An address was stored, or copied, there.
  void add_contents(const llvm::Value& address) {
    if (const llvm::Value* memory = private_memory(address)) {
      add(*memory, kLeadsThere);
    } else {
      reached_ = true;
    }
  }

  void follow(const llvm::Use& use, unsigned relation) {
    const llvm::User* user = use.getUser();
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
      bool is_stored = use.getOperandNo() == 0 && (relation & kIsAddress);
      if (is_stored) add_contents(*store->getPointerOperand());
    } else if (llvm::isa<llvm::AtomicRMWInst>(user) || llvm::isa<llvm::AtomicCmpXchgInst>(user)) {
      follow_atomic(use, relation);
    } else if (llvm::isa<llvm::LoadInst>(user)) {
      if ((relation & kLeadsThere) && may_be_address(*user)) add(*user, kIsAddress | kLeadsThere);
    } else if (auto* copy = llvm::dyn_cast<llvm::AnyMemTransferInst>(user)) {
      if (use.getOperandNo() == 1 && (relation & kLeadsThere)) add_contents(*copy->getRawDest());
    } else if (auto* call = llvm::dyn_cast<llvm::CallBase>(user)) {
      follow_call(use, *call, relation);
    } else if (auto* result = llvm::dyn_cast<llvm::ReturnInst>(user)) {
      follow_return(*result->getFunction(), relation);
    } else if (auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(user)) {
      add(*variable, kLeadsThere);
    } else if (llvm::isa<llvm::Constant>(user) || passes_on(*user)) {
      add(*user, relation);
    }
  }

  void follow_atomic(const llvm::Use& use, unsigned relation) {
    const llvm::User* user = use.getUser();
    const bool at = use.getOperandNo() == 0;
    if (at && (relation & kLeadsThere)) add(*user, kIsAddress | kLeadsThere);
    const bool compared = llvm::isa<llvm::AtomicCmpXchgInst>(user) && use.getOperandNo() == 1;
    if (!at && !compared && (relation & kIsAddress)) add_contents(*user->getOperand(0));
  }

  // Characters and numbers out of such memory are none.
  bool may_be_address(const llvm::Value& read) const {
    llvm::Type* type = read.getType();
    return !type->isFPOrFPVectorTy() && layout_.getTypeStoreSize(type).getKnownMinValue() >= sizeof(uint64_t);
  }

  // Differences and comparisons of addresses are none.
  static bool passes_on(const llvm::User& user) {
    switch (llvm::cast<llvm::Instruction>(user).getOpcode()) {
      case llvm::Instruction::GetElementPtr:
      case llvm::Instruction::PHI:
      case llvm::Instruction::Select:
      case llvm::Instruction::Freeze:
      case llvm::Instruction::AddrSpaceCast:
      case llvm::Instruction::BitCast:
      case llvm::Instruction::IntToPtr:
      case llvm::Instruction::PtrToInt:
      case llvm::Instruction::Trunc:
      case llvm::Instruction::ZExt:
      case llvm::Instruction::SExt:
      case llvm::Instruction::Shl:  // halves of an address
      case llvm::Instruction::LShr:
      case llvm::Instruction::Or:
      case llvm::Instruction::Xor:
      case llvm::Instruction::And:
      case llvm::Instruction::Add:
      case llvm::Instruction::ExtractValue:
      case llvm::Instruction::InsertValue:
      case llvm::Instruction::ExtractElement:
      case llvm::Instruction::InsertElement:
      case llvm::Instruction::ShuffleVector:
        return true;
      default:
        return false;
    }
  }

  void follow_call(const llvm::Use& use, const llvm::CallBase& call, unsigned relation) {
    if (!call.isArgOperand(&use)) return;
    const unsigned number = call.getArgOperandNo(&use);
    auto go_into = [&](const llvm::Function& callee) {
      if (number < callee.arg_size()) add(*callee.getArg(number), relation);
    };
    const llvm::Function* callee = call.getCalledFunction();
    auto* assembly = llvm::dyn_cast<llvm::InlineAsm>(call.getCalledOperand());
    if (assembly && assembly->hasSideEffects()) reached_ = true;  // which may well be that it stores the address
    if (call.isIndirectCall()) {
      for (const llvm::Function* function : by_pointer_) {
        if (function->getFunctionType() == call.getFunctionType()) go_into(*function);
      }
    } else if (callee && !callee->isDeclaration()) {
      go_into(*callee);
    } else if (assembly || llvm::isa<llvm::IntrinsicInst>(call)) {  // an exchange between threads, say
      if (!call.getType()->isVoidTy()) add(call, relation);
    }
  }

  void follow_return(const llvm::Function& function, unsigned relation) {
    for (const llvm::User* user : function.users()) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(user);
      if (call && call->getCalledFunction() == &function) add(*call, relation);
    }
    if (!function.hasAddressTaken()) return;
    for (const llvm::CallBase* call : indirect_calls_) {
      if (call->getFunctionType() == function.getFunctionType()) add(*call, relation);
    }
  }

  const llvm::DataLayout& layout_;
  std::vector<const llvm::CallBase*> indirect_calls_;
  std::vector<const llvm::Function*> by_pointer_;  // whose addresses are taken
  llvm::DenseMap<const llvm::Value*, unsigned> known_;
  llvm::SmallVector<const llvm::Value*> pending_;
  bool reached_ = false;
};

}  // namespace

llvm::StringSet<> constants_in_memory(const llvm::Module& module) {
  llvm::StringSet<> names;
  Flow flow(module);
  for (const llvm::GlobalVariable& variable : module.globals()) {
    if (!variable.isConstant() || !variable.hasName() || !variable.hasInitializer()) continue;
    if (variable.getName().starts_with("llvm.")) continue;
    if (flow.reaches_memory(variable)) names.insert(variable.getName());
  }
  return names;
}

}  // namespace mneme::inject
