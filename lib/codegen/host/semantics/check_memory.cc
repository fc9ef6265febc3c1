// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/semantics/check_memory.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <vector>

#include "codegen/host/abi.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

struct Access {
  llvm::Instruction* at;
  llvm::Value* pointer;
  llvm::Value* size;  // bytes, i64
  uint64_t align;
  MemoryAccess kind;
};

// What the pointer was computed from, as far as that shows.
llvm::SmallVector<const llvm::Value*, 4> objects_of(const llvm::Value* pointer) {
  llvm::SmallVector<const llvm::Value*, 4> objects;
  llvm::getUnderlyingObjects(pointer, objects, nullptr, 0);  // however far away
  return objects;
}

// Memory that an access through a pointer made from it cannot be a fault of: it is no memory of the device's.
bool is_own(const llvm::Value* object) {
  if (llvm::isa<llvm::AllocaInst>(object)) return true;
  if (auto* argument = llvm::dyn_cast<llvm::Argument>(object)) return argument->hasByRefAttr();
  if (auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(object)) {
    return memory_class(*variable) == MemoryClass::kPrivateConstant;
  }
  return operation_at(*object).has_value();
}

class Checks {
 public:
  explicit Checks(llvm::Function& function)
      : layout_(function.getParent()->getDataLayout()), dominators_(function), builder_(function.getContext()) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) gather(instruction);
  }

  void insert() {
    const llvm::BasicBlock* block = nullptr;
    for (const Access& access : accesses_) {
      if (std::exchange(block, access.at->getParent()) != access.at->getParent()) known_.clear();
      if (!is_safe(access)) insert(access);
    }
  }

 private:
  void gather(llvm::Instruction& instruction) {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      add(*load, load->getPointerOperand(), load->getType(), load->getAlign(), kReads);
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      add(*store, store->getPointerOperand(), store->getValueOperand()->getType(), store->getAlign(), kWrites);
    } else if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      add(*update, update->getPointerOperand(), update->getType(), update->getAlign(), kUpdates);
    } else if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
      add(*exchange, exchange->getPointerOperand(), exchange->getCompareOperand()->getType(), exchange->getAlign(),
          kUpdates);
    } else if (auto* block = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) {
      if (auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(block)) {
        add(*block, transfer->getSource(), block->getLength(), transfer->getSourceAlign(), kReads);
      }
      add(*block, block->getDest(), block->getLength(), block->getDestAlign(), kWrites);
    }
  }

  void add(llvm::Instruction& at, llvm::Value* pointer, llvm::Type* type, llvm::Align align, MemoryAccess kind) {
    accesses_.push_back({&at, pointer, builder_.getInt64(layout_.getTypeStoreSize(type)), align.value(), kind});
  }
  void add(llvm::Instruction& at, llvm::Value* pointer, llvm::Value* size, llvm::MaybeAlign align, MemoryAccess kind) {
    accesses_.push_back({&at, pointer, size, align.valueOrOne().value(), kind});
  }

  bool is_safe(const Access& access) {
    auto objects = objects_of(access.pointer);
    if (llvm::all_of(objects, is_own)) return true;
    auto* constant = llvm::dyn_cast<llvm::ConstantInt>(access.size);
    if (!constant) return false;
    uint64_t size = constant->getZExtValue();
    if (is_inside_variable(access, size)) return true;
    // Memory neither goes away nor moves between two accesses of a work-item's that nothing separates.
    auto [known, fresh] = known_.try_emplace(access.pointer, size, access.align);
    if (!fresh && known->second.first >= size && known->second.second >= access.align) return true;
    known->second = {size, access.align};
    return false;
  }

  // At a place in a variable that is known here and now.
  bool is_inside_variable(const Access& access, uint64_t size) const {
    llvm::APInt offset(layout_.getIndexTypeSizeInBits(access.pointer->getType()), 0);
    auto* variable =
        llvm::dyn_cast<llvm::GlobalVariable>(access.pointer->stripAndAccumulateConstantOffsets(layout_, offset, true));
    if (!variable || offset.isNegative()) return false;
    uint64_t whole = layout_.getTypeAllocSize(variable->getValueType()), first = offset.getZExtValue();
    return size <= whole && first <= whole - size &&
           llvm::commonAlignment(variable->getAlign().valueOrOne(), first).value() >= access.align;
  }

  // What the pointer began as; itself where that is not a single thing.
  llvm::Value* origin(const Access& access) const {
    auto objects = objects_of(access.pointer);
    if (objects.size() != 1) return access.pointer;
    auto* object = const_cast<llvm::Value*>(objects.front());
    auto* made = llvm::dyn_cast<llvm::Instruction>(object);
    return made && !dominators_.dominates(made, access.at) ? access.pointer : object;
  }

  void insert(const Access& access) {
    builder_.SetInsertPoint(access.at);
    llvm::Value* size = builder_.CreateZExtOrTrunc(access.size, builder_.getInt64Ty());
    call_service(builder_, "check", builder_.getVoidTy(),
                 {origin(access), access.pointer, size, builder_.getInt32(access.kind),
                  builder_.getInt32(static_cast<uint32_t>(access.align))});
  }

  const llvm::DataLayout& layout_;
  llvm::DominatorTree dominators_;
  llvm::IRBuilder<> builder_;
  std::vector<Access> accesses_;
  llvm::DenseMap<const llvm::Value*, std::pair<uint64_t, uint64_t>> known_;  // checked in this block: size, alignment
};

// A check of nothing: should the stack be full here, it is known of which work-item.
void tell_who_runs(llvm::Function& function) {
  llvm::IRBuilder<> builder(&*function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
  llvm::Value* null = llvm::ConstantPointerNull::get(builder.getPtrTy());
  if (llvm::DISubprogram* source = function.getSubprogram()) {
    builder.SetCurrentDebugLocation(llvm::DILocation::get(function.getContext(), source->getLine(), 0, source));
  }
  call_service(builder, "check", builder.getVoidTy(),
               {null, null, builder.getInt64(0), builder.getInt32(kReads), builder.getInt32(1)});
}

}  // namespace

void keep_null_accesses(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) function.addFnAttr(llvm::Attribute::NullPointerIsValid);
  }
}

void check_memory(llvm::Module& module, const std::string& kernel) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    Checks(function).insert();
    if (function.getName() != kernel) tell_who_runs(function);
  }
}

}  // namespace mneme::codegen::host
