// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/checks/initialisation.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <vector>

#include "codegen/host/abi.h"
#include "codegen/host/checks/checks.h"
#include "codegen/host/checks/shadow_locals.h"
#include "codegen/host/checks/written_memory.h"
#include "codegen/host/neutral/neutral.h"
#include "codegen/host/sync/shared_access.h"

namespace mneme::codegen::host {
namespace {

using llvm::Instruction;
using llvm::Value;

// What is made of the same bytes, and is no result yet.
bool copies(const Instruction& instruction) {
  switch (instruction.getOpcode()) {
    case Instruction::And:
    case Instruction::Or:
    case Instruction::Xor:
    case Instruction::Shl:
    case Instruction::LShr:
    case Instruction::AShr:
    case Instruction::Trunc:
    case Instruction::ZExt:
    case Instruction::SExt:
    case Instruction::BitCast:
    case Instruction::PtrToInt:
    case Instruction::IntToPtr:
    case Instruction::Select:
    case Instruction::PHI:
    case Instruction::GetElementPtr:
    case Instruction::ExtractElement:
    case Instruction::InsertElement:
    case Instruction::ShuffleVector:
    case Instruction::ExtractValue:
    case Instruction::InsertValue:
    case Instruction::Freeze:
      return true;
    default:
      return false;
  }
}

bool computes(const Instruction& instruction) {
  if (llvm::isa<llvm::BinaryOperator, llvm::UnaryOperator, llvm::CastInst, llvm::CmpInst>(instruction)) return true;
  auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  return call && !operation_at(*call) && call->doesNotAccessMemory() && !call->getType()->isVoidTy();
}

bool moves_between_lanes(const Instruction& instruction) {
  auto operation = operation_at(instruction);
  return operation && (operation->kind == OperationKind::kPermute || operation->kind == OperationKind::kFirst);
}

class Initialisation {
 public:
  Initialisation(llvm::Function& function, const Spaces& spaces, Sites& sites, uint32_t checks)
      : function_(function),
        checks_(checks),
        spaces_(spaces),
        sites_(sites),
        layout_(function.getParent()->getDataLayout()),
        builder_(function.getContext()),
        memory_(builder_) {}

  void insert() {
    take_marks();
    find_followed();
    std::vector<Instruction*> all;
    for (llvm::BasicBlock* block : llvm::ReversePostOrderTraversal<llvm::Function*>(&function_)) {
      for (Instruction& instruction : *block) all.push_back(&instruction);
    }
    for (Instruction* instruction : all) {
      auto* phi = llvm::dyn_cast<llvm::PHINode>(instruction);
      if (!phi || !followed_.contains(phi)) continue;
      builder_.SetInsertPoint(phi);
      reads_[phi] = builder_.CreatePHI(builder_.getInt32Ty(), phi->getNumIncomingValues());
    }
    for (Instruction* instruction : all) visit(*instruction);
    for (auto& [mark, operands] : marks_) mark->eraseFromParent();
    for (Instruction* instruction : all) {
      auto* phi = llvm::dyn_cast<llvm::PHINode>(instruction);
      if (!phi || !followed_.contains(phi)) continue;
      auto* reads = llvm::cast<llvm::PHINode>(reads_.lookup(phi));
      for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
        Value* read = read_of(phi->getIncomingValue(i));
        reads->addIncoming(read ? read : builder_.getInt32(0), phi->getIncomingBlock(i));
      }
    }
  }

 private:
  struct Mark {
    Value* value;
    Value* shadow;
  };

  void take_marks() {
    for (Instruction& instruction : llvm::instructions(function_)) {
      auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (!call || call->getIntrinsicID() != llvm::Intrinsic::sideeffect) continue;
      auto bundle = call->getOperandBundle(kLocalMark);
      if (!bundle) continue;
      marks_[call] = {bundle->Inputs[0].get(), bundle->Inputs[1].get()};
    }
  }

  // A value that may come from bytes that nobody wrote.
  bool is_source(const Instruction& instruction) const {
    if (is_undefined_elsewhere(instruction)) return checks_ & kCheckSync;
    if (!(checks_ & kCheckInit)) return false;
    auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    if (!load || load->hasMetadata(llvm::LLVMContext::MD_invariant_load)) return false;
    if (!spaces_.of(load->getPointerOperand())) return false;
    return WrittenMemoryAccess::takes(size_of(load->getType()));
  }

  void find_followed() {
    std::vector<const Value*> found;
    auto follow = [&](Value* value) {
      if (followed_.insert(value).second) found.push_back(value);
    };
    for (Instruction& instruction : llvm::instructions(function_)) {
      if (is_source(instruction)) follow(&instruction);
    }
    for (auto& [call, mark] : marks_) {
      auto* loaded = llvm::dyn_cast<llvm::LoadInst>(mark.value);  // else it was promoted
      auto* written = llvm::dyn_cast<llvm::ConstantInt>(mark.shadow);
      if (written && written->isMinusOne()) continue;
      if (loaded && loaded->getParent() == call->getParent() && followed_.insert(loaded).second) {
        local_[loaded] = call;
        found.push_back(loaded);
      }
    }
    while (!found.empty()) {
      const Value* value = found.back();
      found.pop_back();
      for (const llvm::User* user : value->users()) {
        auto* made = llvm::dyn_cast<Instruction>(user);
        if (made && (copies(*made) || computes(*made) || moves_between_lanes(*made)))
          follow(const_cast<Instruction*>(made));
      }
    }
  }

  uint64_t size_of(llvm::Type* type) const { return layout_.getTypeStoreSize(type).getFixedValue(); }

  // The number of the read that a value comes from, an i32; null: it does not come from any.
  Value* read_of(Value* value) const { return reads_.lookup(value); }
  Value* read_or_none(Value* value) {
    Value* read = read_of(value);
    return read ? read : builder_.getInt32(0);
  }

  Value* either(Value* a, Value* b) {
    if (!a || !b) return a ? a : b;
    return a == b ? a : builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, a, b);
  }

  Value* computed(Value* read) {
    return builder_.CreateSelect(builder_.CreateIsNull(read), read,
                                 builder_.CreateOr(read, builder_.getInt32(kComputedRead)));
  }

  void visit(Instruction& instruction) {
    if (auto local = marks_.find(&instruction); local != marks_.end()) {
      auto* loaded = llvm::dyn_cast<llvm::LoadInst>(local->second.value);
      if (loaded && local_.lookup(loaded) == &instruction) visit_local(*loaded, instruction, local->second.shadow);
      return;
    }
    check_address(instruction);
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      if (is_source(*load)) visit_load(*load);
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      visit_store(*store);
    } else if (llvm::isa<llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(instruction)) {
      visit_update(instruction);
    } else if (auto* bytes = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) {
      visit_bytes(*bytes);
    } else if (auto* branch = llvm::dyn_cast<llvm::BranchInst>(&instruction)) {
      if (branch->isConditional()) use(branch->getCondition(), *branch, kDecidesBranch);
    } else if (auto* choice = llvm::dyn_cast<llvm::SwitchInst>(&instruction)) {
      use(choice->getCondition(), *choice, kDecidesBranch);
    } else if (followed_.contains(&instruction) && !llvm::isa<llvm::PHINode>(instruction)) {
      visit_value(instruction);
    }
  }

  // ---- values ----------------------------------------------------------------------------------------------------

  void visit_value(Instruction& instruction) {
    builder_.SetInsertPoint(instruction.getNextNode());
    builder_.SetCurrentDebugLocation(instruction.getDebugLoc());
    if (moves_between_lanes(instruction)) return visit_collective(llvm::cast<llvm::CallInst>(instruction));
    if (Value* bits = unwritten_bits_after(instruction)) {
      unwritten_[&instruction] = bits;
      Value* read = read_of(root_of(instruction));
      reads_[&instruction] = builder_.CreateSelect(builder_.CreateIsNull(bits), builder_.getInt32(0), read);
      return;
    }
    Value* read = nullptr;
    if (auto* chosen = llvm::dyn_cast<llvm::SelectInst>(&instruction)) {
      Value *a = chosen->getTrueValue(), *b = chosen->getFalseValue();
      if ((read_of(a) || read_of(b)) && chosen->getCondition()->getType()->isIntegerTy(1)) {
        read = builder_.CreateSelect(chosen->getCondition(), read_or_none(a), read_or_none(b));
      } else {
        read = either(read_of(a), read_of(b));
      }
      if (Value* decides = read_of(chosen->getCondition())) read = either(read, computed(decides));
    } else if (Value* masked = read_of_masked(instruction)) {
      read = masked;
    } else {
      auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      for (Value* operand :
           call ? llvm::SmallVector<Value*>(call->args()) : llvm::SmallVector<Value*>(instruction.operands())) {
        read = either(read, read_of(operand));
      }
    }
    if (!read) return;
    reads_[&instruction] = copies(instruction) ? read : computed(read);
  }

  // A word of which a mask takes nothing is written, whatever it is of: `valid & x`.
  Value* read_of_masked(Instruction& instruction) {
    const bool is_and = instruction.getOpcode() == Instruction::And;
    if ((!is_and && instruction.getOpcode() != Instruction::Or) || !instruction.getType()->isIntegerTy())
      return nullptr;
    Value *a = instruction.getOperand(0), *b = instruction.getOperand(1);
    Value* takes_all =
        is_and ? llvm::Constant::getNullValue(a->getType()) : llvm::Constant::getAllOnesValue(a->getType());
    auto decides = [&](Value* mask) {
      Value* alone = builder_.CreateICmpEQ(mask, takes_all);
      Value* read = read_of(mask);
      return read ? builder_.CreateAnd(alone, builder_.CreateIsNull(read)) : alone;
    };
    Value* decided = builder_.CreateOr(decides(a), decides(b));
    return builder_.CreateSelect(decided, builder_.getInt32(0), either(read_of(a), read_of(b)));
  }

  void visit_collective(llvm::CallInst& call) {
    auto operation = operation_at(call);
    Value* read = nullptr;
    if (operation->kind == OperationKind::kFirst) {
      if (read_of(call.getArgOperand(0))) read = call_first(builder_, read_of(call.getArgOperand(0)));
    } else {
      Value *value = call.getArgOperand(0), *otherwise = call.getArgOperand(1), *lane = call.getArgOperand(2);
      if (read_of(value) || read_of(otherwise)) {
        read = call_permute(builder_, read_or_none(value), read_or_none(otherwise), lane);
      }
      if (read_of(lane)) read = either(read, computed(read_of(lane)));
      if (is_source(call)) read = either(read, read_elsewhere(call, lane));
    }
    if (read) reads_[&call] = read;
  }

  // The number of a read of a lane that does not take part; what that gives counts as a result.
  Value* read_elsewhere(llvm::CallInst& call, Value* lane) {
    Value* here = call_ballot(builder_, builder_.getTrue());
    Value* bit = builder_.CreateLShr(here, builder_.CreateZExt(builder_.CreateAnd(lane, 63), builder_.getInt64Ty()));
    Instruction* at = &*builder_.GetInsertPoint();
    Value* is_elsewhere = builder_.CreateNot(builder_.CreateTrunc(bit, builder_.getInt1Ty()));
    Instruction* then = llvm::SplitBlockAndInsertIfThen(is_elsewhere, at->getIterator(), false, unlikely());
    llvm::BasicBlock* before = then->getParent()->getSinglePredecessor();
    builder_.SetInsertPoint(then);
    builder_.SetCurrentDebugLocation(call.getDebugLoc());
    Value* place = builder_.CreateIntToPtr(builder_.CreateZExt(lane, builder_.getInt64Ty()), builder_.getPtrTy());
    Value* number = call_service(builder_, "unwritten_read", builder_.getInt32Ty(),
                                 {place, builder_.getInt64(0), sites_.site(call, kReadsLane)});
    Value* result = builder_.CreateOr(number, builder_.getInt32(kComputedRead));
    builder_.SetInsertPoint(at);
    llvm::PHINode* read = builder_.CreatePHI(builder_.getInt32Ty(), 2);
    read->addIncoming(builder_.getInt32(0), before);
    read->addIncoming(result, then->getParent());
    return read;
  }

  // ---- words of which some bytes were written ----------------------------------------------------------------------

  // Of a value that is a part of one load: its bits that nobody wrote, as an integer of its size. Null: not known.
  Value* unwritten_bits_after(Instruction& instruction) {
    auto bits_of = [&](Value* value) { return unwritten_.lookup(value); };
    if (instruction.getNumOperands() == 0) return nullptr;
    Value* bits = bits_of(instruction.getOperand(0));
    if (!bits) return nullptr;
    llvm::Type* type = instruction.getType();
    auto* constant =
        instruction.getNumOperands() > 1 ? llvm::dyn_cast<llvm::ConstantInt>(instruction.getOperand(1)) : nullptr;
    root_[&instruction] = root_of(*llvm::cast<Instruction>(instruction.getOperand(0)));
    switch (instruction.getOpcode()) {
      case Instruction::Trunc:
        return type->isIntegerTy() ? builder_.CreateTrunc(bits, type) : nullptr;
      case Instruction::ZExt:
        return type->isIntegerTy() ? builder_.CreateZExt(bits, type) : nullptr;
      case Instruction::LShr:
        return constant ? builder_.CreateLShr(bits, constant) : nullptr;
      case Instruction::Shl:
        return constant ? builder_.CreateShl(bits, constant) : nullptr;
      case Instruction::And:
        return constant ? builder_.CreateAnd(bits, constant) : nullptr;
      case Instruction::Freeze:
        return bits;
      case Instruction::BitCast:
        return layout_.getTypeSizeInBits(type) == bits->getType()->getIntegerBitWidth() ? bits : nullptr;
      case Instruction::ExtractElement: {
        const auto size = layout_.getTypeSizeInBits(type).getFixedValue();
        if (!constant || size % 8) return nullptr;
        Value* moved = builder_.CreateLShr(bits, constant->getZExtValue() * size);
        return builder_.CreateTrunc(moved, builder_.getIntNTy(static_cast<unsigned>(size)));
      }
      default:
        return nullptr;
    }
  }

  Instruction* root_of(Instruction& part) const {
    Instruction* root = root_.lookup(&part);
    return root ? root : &part;
  }

  // The number of a read whose bytes have this shadow, ahead of the builder's place.
  void note_read(Instruction& loaded, Value* pointer, Value* shadow, bool is_local) {
    const uint64_t size = size_of(loaded.getType());
    Value* all = llvm::Constant::getAllOnesValue(shadow->getType());
    Value* unwritten = builder_.CreateXor(shadow, all);
    const uint64_t bits = layout_.getTypeSizeInBits(loaded.getType()).getFixedValue();
    if (!loaded.getType()->isAggregateType() && bits == 8 * size) unwritten_[&loaded] = unwritten;
    llvm::BasicBlock* before = builder_.GetInsertBlock();
    Instruction* at = &*builder_.GetInsertPoint();
    Instruction* then =
        llvm::SplitBlockAndInsertIfThen(builder_.CreateIsNotNull(unwritten), at->getIterator(), false, unlikely());
    before = then->getParent()->getSinglePredecessor();
    builder_.SetInsertPoint(then);
    Value* number = call_service(builder_, "unwritten_read", builder_.getInt32Ty(),
                                 {pointer, builder_.getInt64(size), sites_.site(loaded, is_local ? kReadsLocal : 0)});
    builder_.SetInsertPoint(at);
    llvm::PHINode* read = builder_.CreatePHI(builder_.getInt32Ty(), 2);
    read->addIncoming(builder_.getInt32(0), before);
    read->addIncoming(number, then->getParent());
    reads_[&loaded] = read;
  }

  void visit_local(llvm::LoadInst& loaded, Instruction& mark, Value* shadow) {
    start_at(mark, loaded);
    note_read(loaded, loaded.getPointerOperand(), shadow, true);
  }

  void visit_load(llvm::LoadInst& load) {
    start_at(*load.getNextNode(), load);
    Value* pointer = load.getPointerOperand();
    const bool in_order = load.isAtomic() || load.isVolatile();
    Value* shadow = memory_.load(pointer, *spaces_.of(pointer), size_of(load.getType()), in_order);
    if (needs_number(load)) return note_read(load, pointer, shadow, false);
    copied_[&load] = shadow;
  }

  // A copy to shared memory needs the shadow only; elsewhere it may be of a result.
  bool needs_number(const llvm::LoadInst& load) const {
    return llvm::any_of(load.users(), [&](const llvm::User* user) {
      auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
      return !store || store->getPointerOperand() == &load || spaces_.of(store->getPointerOperand()) != Space::kShared;
    });
  }

  // ---- what is done with them ------------------------------------------------------------------------------------

  void start_at(Instruction& at, const Instruction& why) {
    builder_.SetInsertPoint(&at);
    builder_.SetCurrentDebugLocation(why.getDebugLoc());
  }

  llvm::MDNode* unlikely() { return llvm::MDBuilder(builder_.getContext()).createBranchWeights(1, 100000); }

  void use(Value* value, Instruction& at, UseOfUnwritten how) {
    if (Value* read = read_of(value)) use_read(read, at, how, nullptr);
  }

  void use_read(Value* read, Instruction& at, UseOfUnwritten how, Value* address) {
    start_at(at, at);
    Value* is_found = how == kStoresResult ? builder_.CreateICmpUGE(read, builder_.getInt32(kComputedRead))
                                           : builder_.CreateIsNotNull(read);
    builder_.SetInsertPoint(llvm::SplitBlockAndInsertIfThen(is_found, at.getIterator(), false, unlikely()));
    builder_.SetCurrentDebugLocation(at.getDebugLoc());
    if (!address) address = llvm::ConstantPointerNull::get(builder_.getPtrTy());
    call_service(builder_, "unwritten_use", builder_.getVoidTy(),
                 {read, builder_.getInt32(how), address, sites_.site(at, 0)});
    builder_.SetInsertPoint(&at);
  }

  void check_address(Instruction& instruction) {
    if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      use(update->getPointerOperand(), instruction, kIsAddress);
    } else if (auto* swap = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
      use(swap->getPointerOperand(), instruction, kIsAddress);
    } else if (Value* pointer = llvm::getLoadStorePointerOperand(&instruction)) {
      use(pointer, instruction, kIsAddress);
    }
  }

  void visit_store(llvm::StoreInst& store) {
    Value* pointer = store.getPointerOperand();
    std::optional<Space> space = spaces_.of(pointer);
    if (!space) return;
    Value* value = store.getValueOperand();
    Value* read = read_of(value);
    if (read && space != Space::kShared) use_read(read, store, kStoresResult, pointer);
    const uint64_t size = size_of(value->getType());
    if (!WrittenMemoryAccess::takes(size)) return;
    start_at(store, store);
    memory_.store(pointer, *space, size, shadow_for(value, read, size), store.isAtomic() || store.isVolatile());
    if (read) keep(read, store, pointer, size);
  }

  // A later read of the bytes is then this one.
  void keep(Value* read, llvm::StoreInst& store, Value* pointer, uint64_t size) {
    builder_.SetInsertPoint(
        llvm::SplitBlockAndInsertIfThen(builder_.CreateIsNotNull(read), store.getIterator(), false, unlikely()));
    builder_.SetCurrentDebugLocation(store.getDebugLoc());
    call_service(builder_, "unwritten_keep", builder_.getVoidTy(), {read, pointer, builder_.getInt64(size)});
  }

  // What the bytes that a value is stored to are from now on.
  Value* shadow_for(Value* value, Value* read, uint64_t size) {
    llvm::Type* type = builder_.getIntNTy(static_cast<unsigned>(8 * size));
    Value* written = llvm::Constant::getAllOnesValue(type);
    if (Value* same = copied_.lookup(value)) return same;
    if (Value* bits = unwritten_.lookup(value); bits && bits->getType() == type) return builder_.CreateNot(bits);
    if (!read) return written;
    return builder_.CreateSExt(builder_.CreateIsNull(read), type);
  }

  void visit_update(Instruction& instruction) {
    auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction);
    auto* swap = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction);
    Value* pointer = update ? update->getPointerOperand() : swap->getPointerOperand();
    std::optional<Space> space = spaces_.of(pointer);
    if (!space) return;
    use(update ? update->getValOperand() : swap->getNewValOperand(), instruction, kIsUpdate);
    if (swap) use(swap->getCompareOperand(), instruction, kIsUpdate);
    const uint64_t size = size_of(update ? update->getType() : swap->getNewValOperand()->getType());
    if (!WrittenMemoryAccess::takes(size)) return;
    start_at(instruction, instruction);
    Value* written = llvm::Constant::getAllOnesValue(builder_.getIntNTy(static_cast<unsigned>(8 * size)));
    if (!update || update->getOperation() != llvm::AtomicRMWInst::Xchg) {
      Value* shadow = memory_.load(pointer, *space, size, true);
      builder_.SetInsertPoint(llvm::SplitBlockAndInsertIfThen(builder_.CreateICmpNE(shadow, written),
                                                              instruction.getIterator(), false, unlikely()));
      builder_.SetCurrentDebugLocation(instruction.getDebugLoc());
      Value* read = call_service(builder_, "unwritten_read", builder_.getInt32Ty(),
                                 {pointer, builder_.getInt64(size), sites_.site(instruction, 0)});
      call_service(builder_, "unwritten_use", builder_.getVoidTy(),
                   {read, builder_.getInt32(kIsUpdate), pointer, sites_.site(instruction, 0)});
      builder_.SetInsertPoint(&instruction);
    }
    memory_.store(pointer, *space, size, written, true);
  }

  void visit_bytes(llvm::MemIntrinsic& bytes) {
    auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(&bytes);
    use(bytes.getRawDest(), bytes, kIsAddress);
    if (copy) use(copy->getRawSource(), bytes, kIsAddress);
    if (!spaces_.of(bytes.getRawDest())) return;
    start_at(bytes, bytes);
    const bool is_followed = copy && spaces_.of(copy->getRawSource());
    Value* from = is_followed ? copy->getRawSource() : llvm::ConstantPointerNull::get(builder_.getPtrTy());
    call_service(builder_, "written", builder_.getVoidTy(),
                 {bytes.getRawDest(), from, builder_.CreateZExtOrTrunc(bytes.getLength(), builder_.getInt64Ty())});
  }

  llvm::Function& function_;
  const uint32_t checks_;
  const Spaces& spaces_;
  Sites& sites_;
  const llvm::DataLayout& layout_;
  llvm::IRBuilder<> builder_;
  WrittenMemoryAccess memory_;
  llvm::MapVector<Instruction*, Mark> marks_;
  llvm::DenseMap<Instruction*, Instruction*> local_;  // a value that was loaded from a local variable → its mark
  llvm::SmallPtrSet<const Value*, 32> followed_;
  llvm::DenseMap<Value*, Value*> reads_;
  llvm::DenseMap<Value*, Value*> unwritten_;  // a part of one load → its bits that nobody wrote
  llvm::DenseMap<Value*, Value*> copied_;     // a load that is only stored → its shadow
  llvm::DenseMap<Instruction*, Instruction*> root_;
};

}  // namespace

void check_initialisation(llvm::Module& module, const std::string& kernel, uint32_t checks) {
  Spaces spaces(module, module.getFunction(kernel));
  Sites sites(module);
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) Initialisation(function, spaces, sites, checks).insert();
  }
}

}  // namespace mneme::codegen::host
