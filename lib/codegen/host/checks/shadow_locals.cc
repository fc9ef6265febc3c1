// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/checks/shadow_locals.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <vector>

namespace mneme::codegen::host {
namespace {

constexpr uint64_t kMostBytes = 64 * 1024;

// The local variable that a pointer leads into, by offsets only; null: none.
llvm::AllocaInst* local_of(llvm::Value* pointer) {
  while (auto* step = llvm::dyn_cast<llvm::GetElementPtrInst>(pointer)) pointer = step->getPointerOperand();
  return llvm::dyn_cast<llvm::AllocaInst>(pointer);
}

// Whether all that is done with a pointer is to access memory there.
bool stays_here(const llvm::Value& pointer) {
  return llvm::all_of(pointer.users(), [&](const llvm::User* user) {
    if (llvm::isa<llvm::LoadInst, llvm::LifetimeIntrinsic>(user)) return true;
    if (auto* bytes = llvm::dyn_cast<llvm::MemIntrinsic>(user)) return llvm::isa<llvm::ConstantInt>(bytes->getLength());
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) return store->getValueOperand() != &pointer;
    return llvm::isa<llvm::GetElementPtrInst>(user) && stays_here(*user);
  });
}

class Shadows {
 public:
  explicit Shadows(llvm::Function& function)
      : function_(function), layout_(function.getParent()->getDataLayout()), builder_(function.getContext()) {}

  void add() {
    std::vector<llvm::Instruction*> all;
    for (llvm::Instruction& instruction : llvm::instructions(function_)) {
      all.push_back(&instruction);
      auto* local = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
      if (local && is_followed(*local)) locals_[local] = nullptr;
    }
    for (auto& [local, shadow] : locals_) {
      builder_.SetInsertPoint(local);
      shadow = builder_.CreateAlloca(local->getAllocatedType(), local->getArraySize(), local->getName() + ".shadow");
      shadow->setAlignment(local->getAlign());
    }
    for (llvm::Instruction* instruction : all) visit(*instruction);
  }

 private:
  bool is_followed(const llvm::AllocaInst& local) const {
    if (!local.isStaticAlloca()) return false;
    auto size = local.getAllocationSize(layout_);
    return size && !size->isScalable() && size->getFixedValue() <= kMostBytes && stays_here(local);
  }

  bool is_shadowed(llvm::Value* pointer) const {
    llvm::AllocaInst* local = local_of(pointer);
    return local && locals_.contains(local);
  }

  // The same place in the shadow.
  llvm::Value* shadow_of(llvm::Value* pointer) {
    if (auto* local = llvm::dyn_cast<llvm::AllocaInst>(pointer)) return locals_.lookup(local);
    llvm::Value*& known = pointers_[pointer];
    if (known) return known;
    auto* step = llvm::cast<llvm::GetElementPtrInst>(pointer);
    llvm::Value* base = shadow_of(step->getPointerOperand());
    auto* copy = llvm::cast<llvm::GetElementPtrInst>(step->clone());
    copy->setOperand(0, base);
    copy->insertAfter(step);
    return pointers_[pointer] = copy;
  }

  llvm::Type* bits(llvm::Type* type) {
    return builder_.getIntNTy(static_cast<unsigned>(8 * layout_.getTypeStoreSize(type).getFixedValue()));
  }

  void visit(llvm::Instruction& instruction) {
    builder_.SetInsertPoint(&instruction);
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      if (is_shadowed(load->getPointerOperand())) visit(*load);
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      if (is_shadowed(store->getPointerOperand())) visit(*store);
    } else if (auto* bytes = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) {
      if (is_shadowed(bytes->getRawDest())) visit(*bytes);
    } else if (auto* begins = llvm::dyn_cast<llvm::LifetimeIntrinsic>(&instruction)) {
      llvm::Value* local = begins->getArgOperand(1);
      if (begins->getIntrinsicID() == llvm::Intrinsic::lifetime_start && is_shadowed(local)) {
        builder_.CreateMemSet(shadow_of(local), builder_.getInt8(0), *local_of(local)->getAllocationSize(layout_),
                              local_of(local)->getAlign());
      }
    }
  }

  void visit(llvm::LoadInst& load) {
    llvm::Value* place = shadow_of(load.getPointerOperand());
    builder_.SetInsertPoint(load.getNextNode());
    llvm::Value* shadow = builder_.CreateAlignedLoad(bits(load.getType()), place, load.getAlign());
    loaded_[&load] = shadow;
    llvm::FunctionCallee mark = llvm::Intrinsic::getDeclaration(function_.getParent(), llvm::Intrinsic::sideeffect);
    llvm::Value* both[] = {&load, shadow};
    builder_.CreateCall(mark, {}, llvm::OperandBundleDef(kLocalMark, both));
  }

  void visit(llvm::StoreInst& store) {
    llvm::Value* copied = loaded_.lookup(store.getValueOperand());
    llvm::Value* shadow = copied ? copied : llvm::Constant::getAllOnesValue(bits(store.getValueOperand()->getType()));
    builder_.CreateAlignedStore(shadow, shadow_of(store.getPointerOperand()), store.getAlign());
  }

  void visit(llvm::MemIntrinsic& bytes) {
    llvm::Value* to = shadow_of(bytes.getRawDest());
    auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(&bytes);
    if (copy && is_shadowed(copy->getRawSource())) {
      builder_.CreateMemMove(to, bytes.getDestAlign(), shadow_of(copy->getRawSource()), copy->getSourceAlign(),
                             bytes.getLength());
    } else {
      builder_.CreateMemSet(to, builder_.getInt8(0xff), bytes.getLength(), bytes.getDestAlign());
    }
  }

  llvm::Function& function_;
  const llvm::DataLayout& layout_;
  llvm::IRBuilder<> builder_;
  llvm::MapVector<llvm::AllocaInst*, llvm::AllocaInst*> locals_;
  llvm::DenseMap<llvm::Value*, llvm::Value*> pointers_;
  llvm::DenseMap<llvm::Value*, llvm::Value*> loaded_;
};

}  // namespace

void shadow_locals(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) Shadows(function).add();
  }
}

}  // namespace mneme::codegen::host
