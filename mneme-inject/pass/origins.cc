// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pass/origins.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/GetElementPtrTypeIterator.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace mneme::inject {
namespace {

constexpr unsigned kSharedSpace = 3;  // the same for AMDGPU and NVPTX
constexpr int64_t kWord = 8;          // bytes
constexpr int64_t kFar = std::numeric_limits<int64_t>::max() / 4;

// From the first to behind the last of all elements.
int64_t span(const Displacement& place) {
  int64_t span = 0;
  for (const bundle::Elements& array : place.arrays) span += static_cast<int64_t>(array.stride * (array.count - 1));
  return span;
}

// Where in `size` bytes at `stored` the place is; nullopt: nowhere.
std::optional<Displacement> within(const Displacement& place, const Displacement& stored, int64_t size) {
  uint64_t stride = std::gcd(place.stride, stored.stride);
  for (const bundle::Elements& array : stored.arrays) stride = std::gcd(stride, array.stride);
  Displacement result{place.offset - stored.offset, stride, place.arrays};
  if (stride == 0) {
    bool overlaps = result.offset < size && result.offset + span(place) >= 0;
    return overlaps ? std::optional(result) : std::nullopt;
  }
  auto step = static_cast<int64_t>(stride);
  if (result.offset < 0 || result.offset >= size) result.offset = (result.offset % step + step) % step;
  return result.offset < size ? std::optional(result) : std::nullopt;
}

// Of memory, by an address that the user is given.
bool only_reads(const llvm::User& user) {
  auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&user);
  return llvm::isa<llvm::LoadInst>(user) || llvm::isa<llvm::ICmpInst>(user) ||
         (intrinsic && intrinsic->isAssumeLikeIntrinsic());
}

bool is_number(const llvm::Value& value) {
  return value.getType()->isPtrOrPtrVectorTy() || value.getType()->isIntOrIntVectorTy();
}

}  // namespace

const llvm::Value* private_memory(const llvm::Value& address) {
  const llvm::Value* memory = llvm::getUnderlyingObject(&address);
  auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(memory);
  bool is_private = llvm::isa<llvm::AllocaInst>(memory) || (variable && variable->getAddressSpace() == kSharedSpace);
  return is_private ? memory : nullptr;
}

void Displacement::add_multiples(uint64_t bytes) { stride = std::gcd(stride, bytes); }

void Displacement::add(const Displacement& other) {
  offset += other.offset;
  add_multiples(other.stride);
  arrays.insert(arrays.end(), other.arrays.begin(), other.arrays.end());
}

// Values from an address to its origins, each with how far behind it the address is.
class Origins::Way {
 public:
  void go(Word word, Displacement behind) {
    auto [known, is_new] = offsets_.try_emplace({word.value, word.within.offset}, behind.offset);
    if (is_new) {
      pending_.push_back({std::move(word), std::move(behind)});
    } else {  // around a loop
      loops_ = std::gcd(loops_, static_cast<uint64_t>(std::abs(behind.offset - known->second)));
    }
  }
  void go(const llvm::Value* value, const Displacement& behind) { go(Word{value, {}}, behind); }
  std::optional<Origin> next() {
    if (pending_.empty()) return std::nullopt;
    Origin last = std::move(pending_.back());
    pending_.pop_back();
    return last;
  }
  uint64_t loops() const { return loops_; }
  // What it came to holds no address as it stands.
  void lose() { lost_ = true; }
  bool lost() const { return lost_; }

 private:
  std::map<std::pair<const llvm::Value*, int64_t>, int64_t> offsets_;
  std::vector<Origin> pending_;
  bool lost_ = false;
  uint64_t loops_ = 0;  // one stride for all: it says too much rather than too little
};

Origins::Origins(const llvm::Module& module, const llvm::Function& kernel)
    : layout_(module.getDataLayout()), kernel_(kernel) {
  for (const llvm::Function& function : module) {
    if (!function.isDeclaration() && function.hasAddressTaken()) by_pointer_.push_back(&function);
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (call && call->isIndirectCall()) indirect_calls_.push_back(call);
    }
  }
}

const llvm::Value* Origins::address_of(const llvm::Value& value) {
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&value)) return load->getPointerOperand();
  if (auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&value)) return atomic->getPointerOperand();
  if (auto* atomic = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&value)) return atomic->getPointerOperand();
  if (auto* copy = llvm::dyn_cast<llvm::AnyMemTransferInst>(&value)) return copy->getRawSource();
  return nullptr;
}

Origins::All Origins::of(const llvm::Value& address) const {
  std::vector<Origin> origins;
  Way way;
  way.go(&address, {});
  while (auto next = way.next()) {
    const auto& [word, behind] = *next;
    if (follow_memory(word, behind, way) || follow_arithmetic(word, behind, way) || follow_calls(word, behind, way))
      continue;
    if (llvm::isa<llvm::GlobalVariable>(word.value) || llvm::isa<llvm::Argument>(word.value) || address_of(*word.value))
      origins.push_back(std::move(*next));
    else if (!llvm::isa<llvm::Constant>(word.value) && !llvm::isa<llvm::AllocaInst>(word.value))
      way.lose();
  }
  for (Origin& origin : origins) origin.behind.add_multiples(way.loops());
  return {std::move(origins), !way.lost()};
}

void Origins::add_element(const llvm::User& pointer, Displacement& behind) const {
  const llvm::Type* whole = nullptr;  // what the index is into
  for (auto index = llvm::gep_type_begin(pointer), end = llvm::gep_type_end(pointer); index != end; ++index) {
    auto* array = llvm::dyn_cast_or_null<llvm::ArrayType>(std::exchange(whole, index.getIndexedType()));
    auto* number = llvm::dyn_cast<llvm::ConstantInt>(index.getOperand());
    if (llvm::StructType* structure = index.getStructTypeOrNull()) {
      behind.add(static_cast<int64_t>(
          layout_.getStructLayout(structure)->getElementOffset(static_cast<unsigned>(number->getZExtValue()))));
      continue;
    }
    uint64_t stride = index.getSequentialElementStride(layout_).getKnownMinValue();
    if (number && number->getBitWidth() <= 64) {
      behind.add(number->getSExtValue() * static_cast<int64_t>(stride));
    } else if (array && array->getNumElements() > 0) {
      behind.arrays.push_back({stride, array->getNumElements()});
    } else {
      behind.add_multiples(stride);
    }
  }
}

// ---- memory of a thread or a block ------------------------------------------------------------------------------

Displacement Origins::place_in(const llvm::Value& memory, const llvm::Value* address) const {
  Displacement place;
  while (address != &memory) {
    if (auto* element = llvm::dyn_cast<llvm::GEPOperator>(address)) {
      add_element(*element, place);
      address = element->getPointerOperand();
    } else if (llvm::isa<llvm::AddrSpaceCastOperator>(address) || llvm::isa<llvm::BitCastOperator>(address)) {
      address = llvm::cast<llvm::Operator>(address)->getOperand(0);
    } else {
      place.add_multiples(1);
      break;
    }
  }
  return place;
}

const Origins::Written& Origins::written_to(const llvm::Value& memory) const {
  auto [known, is_new] = written_.try_emplace(&memory);
  Written& written = known->second;
  if (!is_new) return written;
  std::vector<std::pair<const llvm::Value*, Displacement>> pending{{&memory, {}}};
  for (size_t i = 0; i < pending.size(); ++i) {
    auto [pointer, place] = pending[i];
    for (const llvm::User* user : pointer->users()) {
      if (auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
        if (store->getPointerOperand() != pointer) {
          written.complete = false;
          continue;
        }
        const llvm::Value* value = store->getValueOperand();
        auto size = static_cast<int64_t>(layout_.getTypeStoreSize(value->getType()).getKnownMinValue());
        written.parts.push_back({value, place, size});
      } else if (auto* copy = llvm::dyn_cast<llvm::AnyMemTransferInst>(user)) {
        if (copy->getRawDest() != pointer) continue;
        auto* length = llvm::dyn_cast<llvm::ConstantInt>(copy->getLength());
        written.parts.push_back({copy, place, length ? static_cast<int64_t>(length->getLimitedValue(kFar)) : kFar});
      } else if (auto* element = llvm::dyn_cast<llvm::GEPOperator>(user)) {
        Displacement there = place;
        add_element(*element, there);
        pending.emplace_back(user, std::move(there));
      } else if (llvm::isa<llvm::AddrSpaceCastOperator>(user) || llvm::isa<llvm::BitCastOperator>(user)) {
        pending.emplace_back(user, place);
      } else if (!only_reads(*user)) {  // there may be stores by another way
        written.complete = false;
      }
    }
  }
  return written;
}

// What was read from such memory is what was stored or copied there.
bool Origins::follow_memory(const Word& word, const Displacement& behind, Way& way) const {
  const llvm::Value* address = address_of(*word.value);
  const llvm::Value* memory = address ? private_memory(*address) : nullptr;
  if (!memory) return false;
  Displacement wanted = place_in(*memory, address);
  wanted.add(word.within);
  const Written& written = written_to(*memory);
  if (!written.complete) way.lose();
  for (const auto& [value, place, size] : written.parts) {
    std::optional<Displacement> part = within(wanted, place, size);
    if (!part) continue;
    if (!llvm::isa<llvm::AnyMemTransferInst>(value)) {
      if (size < kWord) way.lose();  // an address in pieces
      if (size <= kWord) part = Displacement{};
    }
    way.go({value, *part}, behind);
  }
  return true;
}

// ---- values computed from others --------------------------------------------------------------------------------

bool Origins::follow_arithmetic(const Word& word, const Displacement& behind, Way& way) const {
  auto* operation = llvm::dyn_cast<llvm::Operator>(word.value);
  if (!operation) return false;
  auto go = [&](const llvm::Value* value) { way.go({value, word.within}, behind); };
  Displacement somewhere = behind;
  somewhere.add_multiples(1);
  switch (operation->getOpcode()) {
    case llvm::Instruction::GetElementPtr: {
      Displacement element = behind;
      add_element(*operation, element);
      way.go(llvm::cast<llvm::GEPOperator>(operation)->getPointerOperand(), element);
      return true;
    }
    case llvm::Instruction::PHI:
      for (const llvm::Value* incoming : operation->operand_values()) go(incoming);
      return true;
    case llvm::Instruction::Select:
      go(operation->getOperand(1));
      go(operation->getOperand(2));
      return true;
    case llvm::Instruction::Freeze:
    case llvm::Instruction::AddrSpaceCast:
    case llvm::Instruction::BitCast:
    case llvm::Instruction::IntToPtr:
    case llvm::Instruction::PtrToInt:
    case llvm::Instruction::ZExt:
    case llvm::Instruction::SExt:
    case llvm::Instruction::Trunc:
      go(operation->getOperand(0));
      return true;
    case llvm::Instruction::Shl:  // halves of an address, put together
    case llvm::Instruction::LShr:
      way.lose();
      go(operation->getOperand(0));
      return true;
    case llvm::Instruction::ExtractValue: {
      auto* extract = llvm::cast<llvm::ExtractValueInst>(operation);
      const llvm::Value* inserted = llvm::FindInsertedValue(operation->getOperand(0), extract->getIndices());
      if (inserted && inserted != operation) {
        go(inserted);
        return true;
      }
      llvm::SmallVector<llvm::Value*, 4> indices{
          llvm::ConstantInt::get(llvm::Type::getInt32Ty(extract->getContext()), 0)};
      for (unsigned index : extract->getIndices())
        indices.push_back(llvm::ConstantInt::get(llvm::Type::getInt32Ty(extract->getContext()), index));
      Word whole{operation->getOperand(0), word.within};
      whole.within.add(layout_.getIndexedOffsetInType(operation->getOperand(0)->getType(), indices));
      way.go(std::move(whole), behind);
      return true;
    }
    case llvm::Instruction::ExtractElement: {
      Word whole{operation->getOperand(0), word.within};
      auto size = static_cast<int64_t>(layout_.getTypeStoreSize(operation->getType()).getKnownMinValue());
      auto* index = llvm::dyn_cast<llvm::ConstantInt>(operation->getOperand(1));
      index ? whole.within.add(size * index->getSExtValue()) : whole.within.add_multiples(static_cast<uint64_t>(size));
      way.go(std::move(whole), behind);
      return true;
    }
    case llvm::Instruction::InsertElement:
    case llvm::Instruction::InsertValue:
      go(operation->getOperand(0));
      way.go(operation->getOperand(1), behind);
      return true;
    case llvm::Instruction::Add:
      if (auto* number = llvm::dyn_cast<llvm::ConstantInt>(operation->getOperand(1));
          number && number->getBitWidth() <= 64) {
        Displacement further = behind;
        further.add(number->getSExtValue());
        way.go({operation->getOperand(0), word.within}, further);
        return true;
      }
      for (const llvm::Value* operand : operation->operand_values()) way.go({operand, word.within}, somewhere);
      return true;
    case llvm::Instruction::And:
      if (auto* mask = llvm::dyn_cast<llvm::ConstantInt>(operation->getOperand(1));
          mask && mask->getValue().isNegatedPowerOf2()) {  // aligned
        way.go({operation->getOperand(0), word.within}, somewhere);
        return true;
      }
      [[fallthrough]];
    case llvm::Instruction::Or:
    case llvm::Instruction::Xor:
      way.lose();
      [[fallthrough]];
    case llvm::Instruction::Sub:
      for (const llvm::Value* operand : operation->operand_values()) way.go({operand, word.within}, somewhere);
      return true;
    default:
      return false;
  }
}

// ---- into functions that were not inlined, and out of them ------------------------------------------------------

bool Origins::follow_calls(const Word& word, const Displacement& behind, Way& way) const {
  if (auto* argument = llvm::dyn_cast<llvm::Argument>(word.value); argument && argument->getParent() != &kernel_) {
    const llvm::Function& function = *argument->getParent();
    auto go = [&](const llvm::CallBase& call) {
      way.go({call.getArgOperand(argument->getArgNo()), word.within}, behind);
    };
    for (const llvm::User* user : function.users()) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(user);
      if (call && call->getCalledFunction() == &function) go(*call);
    }
    if (!function.hasAddressTaken()) return true;
    for (const llvm::CallBase* call : indirect_calls_) {
      if (call->getFunctionType() == function.getFunctionType()) go(*call);
    }
    return true;
  }
  auto* call = llvm::dyn_cast<llvm::CallBase>(word.value);
  if (!call || llvm::isa<llvm::AnyMemTransferInst>(word.value)) return false;
  auto go_into = [&](const llvm::Function& callee) {
    for (const llvm::BasicBlock& block : callee) {
      auto* result = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator());
      if (result && result->getReturnValue()) way.go({result->getReturnValue(), word.within}, behind);
    }
  };
  if (auto* same = llvm::getArgumentAliasingToReturnedPointer(call, /*MustPreserveNullness=*/false)) {
    way.go(same, behind);
  } else if (call->isIndirectCall()) {
    for (const llvm::Function* callee : by_pointer_) {
      if (callee->getFunctionType() == call->getFunctionType()) go_into(*callee);
    }
  } else if (call->isInlineAsm() || llvm::isa<llvm::IntrinsicInst>(call)) {  // an exchange between threads, say
    for (const llvm::Value* argument : call->args()) {
      if (is_number(*argument)) way.go(argument, behind);
    }
  } else if (const llvm::Function* callee = call->getCalledFunction(); callee && !callee->isDeclaration()) {
    go_into(*callee);
  } else {
    way.lose();
  }
  return true;
}

}  // namespace mneme::inject
