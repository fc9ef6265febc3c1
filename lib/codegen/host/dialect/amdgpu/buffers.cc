// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory by descriptors: llvm.amdgcn.raw.buffer.load and its like. A descriptor has a base of 48 bits, a stride, a
// number of records and flags:
//
//   word 0: base, lower half; word 1: base, 16 bits, stride, 14 bits at 16; word 2: records; word 3: flags
//
// Raw accesses, and indexed ones without a stride, are checked against the records as bytes, word by word; indexed ones
// with a stride, their index against the records. What is out of range is zero when loaded, and not stored. As on AMD's
// processors for data centres (gfx9), the scalar offset counts. Records that are swizzled are not known.
//
// LLVM has descriptors as vectors of four words and as pointers of address space 8, which become such vectors here.
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/Support/AMDGPUAddrSpace.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <map>

#include "codegen/host/dialect/amdgpu/intrinsics.h"
#include "codegen/host/dialect/amdgpu/raise.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

using llvm::AtomicRMWInst;
using llvm::StringRef;
using llvm::Value;
using Builder = llvm::IRBuilderBase;

bool is_descriptor(const llvm::Type* type) {
  return type->isPointerTy() && type->getPointerAddressSpace() == llvm::AMDGPUAS::BUFFER_RESOURCE;
}

// Pointers that are descriptors, as vectors of four words.
class Descriptors {
 public:
  // Null: it comes from where it is not known.
  Value* vector_of(Value* descriptor) {
    if (!is_descriptor(descriptor->getType())) return descriptor;
    if (auto found = vectors_.find(descriptor); found != vectors_.end()) return found->second;
    auto* type = llvm::FixedVectorType::get(llvm::Type::getInt32Ty(descriptor->getContext()), 4);
    if (llvm::isa<llvm::UndefValue, llvm::ConstantPointerNull>(descriptor)) return llvm::Constant::getNullValue(type);
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(descriptor);
    return instruction ? made_of(*instruction, type) : nullptr;
  }

  bool all_known() const { return known_; }

  // A descriptor in memory is a vector there.
  bool store(llvm::StoreInst& store) {
    Value* vector = vector_of(store.getValueOperand());
    if (!vector) return false;
    llvm::IRBuilder<> builder(&store);
    builder.CreateAlignedStore(vector, store.getPointerOperand(), store.getAlign(), store.isVolatile());
    store.eraseFromParent();
    return true;
  }

  // Those that nobody is left to use.
  void drop() {
    for (auto& [descriptor, vector] : vectors_) {
      if (vector) descriptor->replaceAllUsesWith(llvm::PoisonValue::get(descriptor->getType()));
    }
    for (auto& [descriptor, vector] : vectors_) {
      if (vector) llvm::cast<llvm::Instruction>(descriptor)->eraseFromParent();
    }
  }

 private:
  Value* made_of(llvm::Instruction& instruction, llvm::FixedVectorType* type) {
    llvm::IRBuilder<> builder(&instruction);
    Value*& vector = vectors_[&instruction];
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction)) {
      llvm::PHINode* made = builder.CreatePHI(type, phi->getNumIncomingValues());
      vector = made;
      for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
        Value* incoming = vector_of(phi->getIncomingValue(i));
        made->addIncoming(incoming ? incoming : llvm::PoisonValue::get(type), phi->getIncomingBlock(i));
        known_ &= incoming != nullptr;
      }
      return made;
    }
    Value* made = nullptr;
    if (auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction)) {
      Value *yes = vector_of(select->getTrueValue()), *no = vector_of(select->getFalseValue());
      if (yes && no) made = builder.CreateSelect(select->getCondition(), yes, no);
    } else if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      made = builder.CreateAlignedLoad(type, load->getPointerOperand(), load->getAlign(), load->isVolatile());
    } else if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) {
      if (call->getIntrinsicID() == llvm::Intrinsic::amdgcn_make_buffer_rsrc) made = from_parts(builder, *call, type);
    } else if (instruction.getOpcode() == llvm::Instruction::Freeze) {
      made = vector_of(instruction.getOperand(0));
    }
    return vectors_[&instruction] = made;
  }

  // base, stride, records, flags.
  static Value* from_parts(Builder& builder, llvm::IntrinsicInst& call, llvm::Type* type) {
    Value* base = builder.CreatePtrToInt(call.getArgOperand(0), builder.getInt64Ty());
    Value* stride = builder.CreateZExtOrTrunc(call.getArgOperand(1), builder.getInt32Ty());
    Value* upper = builder.CreateTrunc(builder.CreateLShr(base, 32), builder.getInt32Ty());
    Value* words[] = {builder.CreateTrunc(base, builder.getInt32Ty()),
                      builder.CreateOr(builder.CreateAnd(upper, 0xffff), builder.CreateShl(stride, 16)),
                      builder.CreateZExtOrTrunc(call.getArgOperand(2), builder.getInt32Ty()), call.getArgOperand(3)};
    Value* vector = llvm::PoisonValue::get(type);
    for (unsigned i = 0; i < 4; ++i) vector = builder.CreateInsertElement(vector, words[i], uint64_t{i});
    return vector;
  }

  std::map<Value*, Value*> vectors_;
  bool known_ = true;
};

struct BufferAddress {
  Value* first;  // i64
  Value* limit;  // i64: bytes from `first` that are in range
};

// `index` null: none.
BufferAddress address_in(Builder& builder, Value* descriptor, Value* index, Value* offset, Value* scalar) {
  llvm::Type* wide = builder.getInt64Ty();
  auto word = [&](uint64_t i) { return builder.CreateZExt(builder.CreateExtractElement(descriptor, i), wide); };
  Value* second = word(1);
  Value* base = builder.CreateOr(word(0), builder.CreateShl(builder.CreateAnd(second, 0xffff), 32));
  Value* distance = builder.CreateAdd(builder.CreateZExt(offset, wide), builder.CreateZExt(scalar, wide));
  Value* records = word(2);
  Value* limit = builder.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, records, distance);
  if (index) {
    Value* stride = builder.CreateAnd(builder.CreateLShr(second, 16), 0x3fff);
    Value* place = builder.CreateZExt(index, wide);
    Value* inside =
        builder.CreateSelect(builder.CreateICmpULT(place, records), builder.getInt64(UINT32_MAX), builder.getInt64(0));
    limit = builder.CreateSelect(builder.CreateIsNull(stride), limit, inside);
    distance = builder.CreateAdd(distance, builder.CreateMul(place, stride));
  }
  return {builder.CreateAdd(base, distance), limit};
}

// What is moved, as words: one shorter than a word, or some.
struct Moved {
  llvm::Type* element;
  unsigned bytes, count;
};
Moved moved_as(Builder& builder, llvm::Type* type, const llvm::DataLayout& layout) {
  unsigned bits = static_cast<unsigned>(layout.getTypeSizeInBits(type).getFixedValue());
  if (bits < 32) return {builder.getIntNTy(bits), bits / 8, 1};
  return {builder.getInt32Ty(), 4, bits / 32};
}

Value* is_in_range(Builder& builder, const BufferAddress& address, const Moved& moved) {
  if (moved.count == 1) return builder.CreateICmpUGE(address.limit, builder.getInt64(moved.bytes));
  Value* mask = llvm::PoisonValue::get(llvm::FixedVectorType::get(builder.getInt1Ty(), moved.count));
  for (unsigned i = 0; i < moved.count; ++i) {
    Value* in = builder.CreateICmpUGE(address.limit, builder.getInt64((i + 1) * moved.bytes));
    mask = builder.CreateInsertElement(mask, in, uint64_t{i});
  }
  return mask;
}

// What is done where `holds`, and its value, or zero.
Value* only_if(llvm::IRBuilder<>& builder, llvm::CallInst& call, Value* holds,
               llvm::function_ref<Value*(Builder&)> body) {
  llvm::BasicBlock* head = call.getParent();
  llvm::Instruction* then = llvm::SplitBlockAndInsertIfThen(holds, &call, false);
  builder.SetInsertPoint(then);
  Value* value = body(builder);
  llvm::BasicBlock* from = builder.GetInsertBlock();
  builder.SetInsertPoint(&call);
  if (!value) return nullptr;
  llvm::PHINode* both = llvm::PHINode::Create(value->getType(), 2, "", call.getParent()->begin());
  both->addIncoming(value, from);
  both->addIncoming(llvm::Constant::getNullValue(value->getType()), head);
  return both;
}

Value* load_buffer(llvm::IRBuilder<>& builder, llvm::CallInst& call, const BufferAddress& address, llvm::Type* type) {
  Moved moved = moved_as(builder, type, call.getModule()->getDataLayout());
  Value* pointer = builder.CreateIntToPtr(address.first, builder.getPtrTy());
  Value* holds = is_in_range(builder, address, moved);
  llvm::Align align(moved.bytes);
  Value* value = nullptr;
  if (moved.count == 1) {
    value = only_if(builder, call, holds,
                    [&](Builder& inside) { return inside.CreateAlignedLoad(moved.element, pointer, align); });
  } else {
    llvm::Type* vector = llvm::FixedVectorType::get(moved.element, moved.count);
    value = builder.CreateMaskedLoad(vector, pointer, align, holds, llvm::Constant::getNullValue(vector));
  }
  return builder.CreateBitCast(value, type);
}

void store_buffer(llvm::IRBuilder<>& builder, llvm::CallInst& call, const BufferAddress& address, Value* value) {
  Moved moved = moved_as(builder, value->getType(), call.getModule()->getDataLayout());
  Value* pointer = builder.CreateIntToPtr(address.first, builder.getPtrTy());
  Value* holds = is_in_range(builder, address, moved);
  llvm::Align align(moved.bytes);
  if (moved.count == 1) {
    value = builder.CreateBitCast(value, moved.element);
    only_if(builder, call, holds, [&](Builder& inside) -> Value* {
      inside.CreateAlignedStore(value, pointer, align);
      return nullptr;
    });
    return;
  }
  value = builder.CreateBitCast(value, llvm::FixedVectorType::get(moved.element, moved.count));
  builder.CreateMaskedStore(value, pointer, align, holds);
}

AtomicRMWInst::BinOp update_named(StringRef name) {
  return llvm::StringSwitch<AtomicRMWInst::BinOp>(name)
      .Case("swap", AtomicRMWInst::Xchg)
      .Case("add", AtomicRMWInst::Add)
      .Case("sub", AtomicRMWInst::Sub)
      .Case("smin", AtomicRMWInst::Min)
      .Case("smax", AtomicRMWInst::Max)
      .Case("umin", AtomicRMWInst::UMin)
      .Case("umax", AtomicRMWInst::UMax)
      .Case("and", AtomicRMWInst::And)
      .Case("or", AtomicRMWInst::Or)
      .Case("xor", AtomicRMWInst::Xor)
      .Case("inc", AtomicRMWInst::UIncWrap)
      .Case("dec", AtomicRMWInst::UDecWrap)
      .Case("fadd", AtomicRMWInst::FAdd)
      .Case("fmin", AtomicRMWInst::FMin)
      .Case("fmax", AtomicRMWInst::FMax)
      .Default(AtomicRMWInst::BAD_BINOP);
}

// Each lane's value follows that of the lane before it.
void store_in_turn(Builder& builder, Value* to, Value* offset, Value* value, uint32_t wave_size) {
  const unsigned bytes = value->getType()->getIntegerBitWidth() / 8;
  Value* distance = builder.CreateMul(lane_index(builder, wave_size), builder.getInt32(bytes));
  to = builder.CreateGEP(builder.getInt8Ty(), to, builder.CreateAdd(distance, offset));
  builder.CreateAlignedStore(value, to, llvm::Align(std::min(bytes, 4U)));
}

// llvm.amdgcn.global.load.lds: as a buffer's, from any address.
void load_global_to_shared(llvm::CallInst& call, uint32_t wave_size) {
  llvm::IRBuilder<> builder(&call);
  const auto bytes = static_cast<unsigned>(llvm::cast<llvm::ConstantInt>(call.getArgOperand(2))->getZExtValue());
  if (bytes == 0 || bytes > 16) return;
  Value* offset = call.getArgOperand(3);
  Value* from = builder.CreateGEP(builder.getInt8Ty(), call.getArgOperand(0), offset);
  Value* value = builder.CreateAlignedLoad(builder.getIntNTy(bytes * 8), from, llvm::Align(std::min(bytes, 4U)));
  store_in_turn(builder, call.getArgOperand(1), offset, value, wave_size);
  call.eraseFromParent();
}

class BufferCall {
 public:
  BufferCall(llvm::CallInst& call, Descriptors& descriptors, uint32_t wave_size)
      : call_(call), builder_(&call), descriptors_(descriptors), wave_size_(wave_size) {}

  // False: it is none that is known.
  bool raise() {
    StringRef name = call_.getCalledFunction()->getName();
    if (!name.consume_front("llvm.amdgcn.")) return false;
    if (name.starts_with("s.buffer.load.")) return finish(load(0, nullptr, operand(1), builder_.getInt32(0)));
    indexed_ = name.consume_front("struct.");
    if (!indexed_ && !name.consume_front("raw.")) return false;
    name.consume_front("ptr.");
    if (!name.consume_front("buffer.")) return false;
    if (name.starts_with("load.lds")) return load_to_shared();
    if (name.starts_with("load.format") || name.starts_with("store.format")) return false;
    if (name.starts_with("load.")) return finish(load(0, index(1), operand(1 + indexed_), operand(2 + indexed_)));
    if (name.starts_with("store.")) return store();
    return name.consume_front("atomic.") && update(name.split('.').first);
  }

 private:
  Value* operand(unsigned i) { return call_.getArgOperand(i); }
  Value* index(unsigned i) { return indexed_ ? operand(i) : nullptr; }

  std::optional<BufferAddress> address(unsigned descriptor, Value* index, Value* offset, Value* scalar) {
    Value* vector = descriptors_.vector_of(operand(descriptor));
    if (!vector || !descriptors_.all_known()) return std::nullopt;
    return address_in(builder_, vector, index, offset, scalar);
  }

  Value* load(unsigned descriptor, Value* index, Value* offset, Value* scalar) {
    auto place = address(descriptor, index, offset, scalar);
    return place ? load_buffer(builder_, call_, *place, call_.getType()) : nullptr;
  }

  bool finish(Value* value) {
    if (!value) return false;
    call_.replaceAllUsesWith(value);
    call_.eraseFromParent();
    return true;
  }
  bool finish() {
    call_.eraseFromParent();
    return true;
  }

  bool store() {
    auto place = address(1, index(2), operand(2 + indexed_), operand(3 + indexed_));
    if (!place) return false;
    store_buffer(builder_, call_, *place, operand(0));
    return finish();
  }

  bool update(StringRef name) {
    bool exchanges = name == "cmpswap";
    AtomicRMWInst::BinOp operation = update_named(name);
    if (!exchanges && operation == AtomicRMWInst::BAD_BINOP) return false;
    unsigned first = exchanges ? 2 : 1;
    auto place = address(first, index(first + 1), operand(first + 1 + indexed_), operand(first + 2 + indexed_));
    if (!place) return false;
    const llvm::DataLayout& layout = call_.getModule()->getDataLayout();
    uint64_t bytes = layout.getTypeStoreSize(call_.getType()).getFixedValue();
    Value* pointer = builder_.CreateIntToPtr(place->first, builder_.getPtrTy());
    Value* holds = builder_.CreateICmpUGE(place->limit, builder_.getInt64(bytes));
    constexpr llvm::AtomicOrdering kRelaxed = llvm::AtomicOrdering::Monotonic;
    return finish(only_if(builder_, call_, holds, [&](Builder& inside) -> Value* {
      if (!exchanges) return inside.CreateAtomicRMW(operation, pointer, operand(0), llvm::MaybeAlign(), kRelaxed);
      Value* both = inside.CreateAtomicCmpXchg(pointer, operand(1), operand(0), llvm::MaybeAlign(), kRelaxed, kRelaxed);
      return inside.CreateExtractValue(both, 0);
    }));
  }

  bool load_to_shared() {
    auto* size = llvm::dyn_cast<llvm::ConstantInt>(operand(2));
    if (!size || size->isZero() || size->getZExtValue() > 16) return false;
    unsigned bits = static_cast<unsigned>(size->getZExtValue()) * 8;
    Value* fixed = builder_.CreateZExtOrTrunc(operand(5 + indexed_), builder_.getInt32Ty());
    auto place = address(0, index(3), builder_.CreateAdd(operand(3 + indexed_), fixed), operand(4 + indexed_));
    if (!place) return false;
    Value* value = load_buffer(builder_, call_, *place, builder_.getIntNTy(bits));
    store_in_turn(builder_, operand(1), fixed, value, wave_size_);
    return finish();
  }

  llvm::CallInst& call_;
  llvm::IRBuilder<> builder_;
  Descriptors& descriptors_;
  uint32_t wave_size_;
  bool indexed_ = false;
};

}  // namespace

void raise_buffers(llvm::Module& module, uint32_t wave_size) {
  std::vector<llvm::CallInst*> calls;
  std::vector<llvm::StoreInst*> stores;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) calls.push_back(call);
      auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
      if (store && is_descriptor(store->getValueOperand()->getType())) stores.push_back(store);
      auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
      if (variable && is_descriptor(variable->getAllocatedType())) {
        variable->setAllocatedType(llvm::FixedVectorType::get(llvm::Type::getInt32Ty(module.getContext()), 4));
      }
    }
  }
  Descriptors descriptors;
  for (llvm::StoreInst* store : stores) descriptors.store(*store);
  for (llvm::CallInst* call : calls) {
    if (call->getIntrinsicID() == llvm::Intrinsic::amdgcn_global_load_lds) {
      load_global_to_shared(*call, wave_size);
      continue;
    }
    if (call->getCalledFunction()->getName().contains("buffer.")) BufferCall(*call, descriptors, wave_size).raise();
  }
  if (descriptors.all_known()) descriptors.drop();
}

}  // namespace mneme::codegen::host
