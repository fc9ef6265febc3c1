// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <vector>

#include "codegen/host/abi.h"
#include "codegen/host/checks/checks.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

constexpr uint64_t kMostValue = 8;  // bytes that Services::track takes

struct Access {
  llvm::Instruction* at;
  llvm::Value* pointer;
  llvm::Value* size;   // bytes, i64
  llvm::Value* value;  // that is stored; null: not known
  uint32_t flags;
};

// Memory that no other work-item uses, or that is never written. Of the launch's own (neutral.h: call_implicit) it is
// but atomic operations on it that matter: cooperative groups synchronise by them.
bool is_own(const llvm::Value* object, uint32_t flags) {
  if (llvm::isa<llvm::AllocaInst>(object)) return true;
  if (auto* argument = llvm::dyn_cast<llvm::Argument>(object)) return argument->hasByRefAttr();
  if (auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(object)) {
    return memory_class(*variable) == MemoryClass::kPrivateConstant;
  }
  auto operation = operation_at(*object);
  return operation && operation->kind != OperationKind::kService && !(flags & (kTrackedAtomic | kTrackedVolatile));
}

bool is_shared(const llvm::Value* object) {
  auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(object);
  return variable && is_blocks_own(*variable);
}

class Tracking {
 public:
  Tracking(llvm::Function& function, Sites& sites, bool is_nvptx)
      : layout_(function.getParent()->getDataLayout()),
        sites_(sites),
        builder_(function.getContext()),
        is_nvptx_(is_nvptx) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) gather(instruction);
  }

  void insert() {
    for (const Access& access : accesses_) insert(access);
  }

 private:
  uint32_t flags_of(llvm::AtomicOrdering order, llvm::SyncScope::ID scope) const {
    uint32_t flags = kTrackedAtomic;
    if (llvm::isAcquireOrStronger(order)) flags |= kTrackedAcquire;
    if (llvm::isReleaseOrStronger(order)) flags |= kTrackedRelease;
    if (within_block(builder_.getContext(), scope)) flags |= kTrackedBlock;
    return flags;
  }

  uint32_t flags_of_update(llvm::AtomicOrdering order, llvm::SyncScope::ID scope) const {
    return flags_of(is_nvptx_ ? llvm::AtomicOrdering::Monotonic : order, scope) | kUpdates;
  }

  void gather(llvm::Instruction& instruction) {
    const uint32_t is_volatile = instruction.isVolatile() ? kTrackedVolatile : 0;
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      const uint32_t atomic = load->isAtomic() ? flags_of(load->getOrdering(), load->getSyncScopeID()) : 0;
      add(*load, load->getPointerOperand(), load->getType(), nullptr, kReads | atomic | is_volatile);
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      llvm::Value* value = store->getValueOperand();
      const uint32_t atomic = store->isAtomic() ? flags_of(store->getOrdering(), store->getSyncScopeID()) : 0;
      add(*store, store->getPointerOperand(), value->getType(), value, kWrites | atomic | is_volatile);
    } else if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      add(*update, update->getPointerOperand(), update->getType(), nullptr,
          flags_of_update(update->getOrdering(), update->getSyncScopeID()));
    } else if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
      add(*exchange, exchange->getPointerOperand(), exchange->getCompareOperand()->getType(), nullptr,
          flags_of_update(exchange->getMergedOrdering(), exchange->getSyncScopeID()));
    } else if (auto* block = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) {
      if (auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(block)) {
        add(*block, transfer->getSource(), block->getLength(), nullptr, kReads | is_volatile);
      }
      add(*block, block->getDest(), block->getLength(), nullptr, kWrites | is_volatile);
    }
  }

  void add(llvm::Instruction& at, llvm::Value* pointer, llvm::Type* type, llvm::Value* value, uint32_t flags) {
    add(at, pointer, builder_.getInt64(layout_.getTypeStoreSize(type)), value, flags);
  }
  void add(llvm::Instruction& at, llvm::Value* pointer, llvm::Value* size, llvm::Value* value, uint32_t flags) {
    llvm::SmallVector<const llvm::Value*, 4> objects;
    llvm::getUnderlyingObjects(pointer, objects, nullptr, 0);
    if (llvm::all_of(objects, [&](const llvm::Value* object) { return is_own(object, flags); })) return;
    if (llvm::all_of(objects, is_shared)) flags |= kTrackedShared;
    accesses_.push_back({&at, pointer, size, value, flags});
  }

  // As an i64; null where it does not fit.
  llvm::Value* bits_of(llvm::Value* value) {
    if (!value || layout_.getTypeStoreSize(value->getType()) > kMostValue) return nullptr;
    llvm::Type* type = value->getType();
    if (type->isPointerTy()) return builder_.CreatePtrToInt(value, builder_.getInt64Ty());
    if (!type->isIntOrIntVectorTy() && !type->isFPOrFPVectorTy()) return nullptr;
    llvm::Type* bits = builder_.getIntNTy(static_cast<unsigned>(layout_.getTypeSizeInBits(type).getFixedValue()));
    return builder_.CreateZExtOrTrunc(builder_.CreateBitCast(value, bits), builder_.getInt64Ty());
  }

  void insert(const Access& access) {
    builder_.SetInsertPoint(access.at);
    llvm::Value* value = bits_of(access.value);
    const uint32_t flags = access.flags | (value ? kTrackedValue : 0);
    call_service(builder_, "track", builder_.getVoidTy(),
                 {access.pointer, builder_.CreateZExtOrTrunc(access.size, builder_.getInt64Ty()),
                  value ? value : builder_.getInt64(0), sites_.site(*access.at, flags)});
  }

  const llvm::DataLayout& layout_;
  Sites& sites_;
  llvm::IRBuilder<> builder_;
  bool is_nvptx_;
  std::vector<Access> accesses_;
};

}  // namespace

void track_accesses(llvm::Module& module, bool is_nvptx) {
  Sites sites(module);
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) Tracking(function, sites, is_nvptx).insert();
  }
}

}  // namespace mneme::codegen::host
