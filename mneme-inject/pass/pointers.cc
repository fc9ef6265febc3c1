// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pass/pointers.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <utility>

namespace mneme::inject {
namespace {

constexpr unsigned kSharedSpace = 3;  // the same for AMDGPU and NVPTX
constexpr uint64_t kWord = 8;         // bytes; pointers lie at multiples of their size

// Calls and local variables hide where pointers come from, so the analysis sees a copy without most of them.
void simplify(llvm::Module& module) {
  for (llvm::Function& function : module) {
    function.removeFnAttr(llvm::Attribute::OptimizeNone);
    function.removeFnAttr(llvm::Attribute::NoInline);
  }
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  constexpr char kPasses[] =
      "function(sroa,early-cse,simplifycfg),cgscc(inline),"
      "function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg)";
  llvm::cantFail(builder.parsePassPipeline(passes, kPasses));
  passes.run(module, modules);
}

class Following {
 public:
  Following(const llvm::Module& module, const llvm::Function& kernel, const std::vector<bundle::Argument>& arguments)
      : layout_(module.getDataLayout()), kernel_(kernel), arguments_(arguments) {
    for (const llvm::Function& function : module) {
      for (const llvm::Instruction& instruction : llvm::instructions(function)) {
        for (const llvm::Value* address : addresses_used(instruction)) follow(address);
      }
      if (!function.isDeclaration()) note_polling(function);
    }
  }

  std::vector<bundle::Pointer> take() { return std::move(pointers_); }

 private:
  // Something that an address was made of: `offset` bytes, and any multiple of `stride`, behind what `value` points to.
  struct Origin {
    const llvm::Value* value = nullptr;
    int64_t offset = 0;
    uint64_t stride = 0;
  };
  using Origins = std::vector<Origin>;

  // What an instruction reads or writes through; calls of functions that are not known, through all that they are
  // given.
  static std::vector<const llvm::Value*> addresses_used(const llvm::Instruction& instruction) {
    std::vector<const llvm::Value*> addresses;
    if (const llvm::Value* address = llvm::getLoadStorePointerOperand(&instruction)) addresses.push_back(address);
    if (auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction))
      addresses.push_back(atomic->getPointerOperand());
    if (auto* atomic = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction))
      addresses.push_back(atomic->getPointerOperand());
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    if (!call || (intrinsic && intrinsic->isAssumeLikeIntrinsic())) return addresses;
    if (const llvm::Function* callee = call->getCalledFunction(); callee && !callee->isDeclaration()) return addresses;
    for (const llvm::Value* argument : call->args()) {
      if (argument->getType()->isPointerTy()) addresses.push_back(argument);
    }
    return addresses;
  }

  // Loops that go on as long as memory says so that others may write.
  void note_polling(const llvm::Function& function) {
    llvm::DominatorTree dominators(const_cast<llvm::Function&>(function));
    llvm::LoopInfo loops(dominators);
    for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
      llvm::SmallVector<llvm::BasicBlock*, 8> ends;
      loop->getExitingBlocks(ends);
      llvm::SmallVector<const llvm::Value*, 16> pending;
      llvm::SmallPtrSet<const llvm::Value*, 32> seen;
      for (const llvm::BasicBlock* end : ends) pending.push_back(end->getTerminator());
      while (!pending.empty()) {
        auto* instruction = llvm::dyn_cast<llvm::Instruction>(pending.pop_back_val());
        if (!instruction || !loop->contains(instruction) || !seen.insert(instruction).second) continue;
        if (instruction->isVolatile() || instruction->isAtomic()) {
          for (const llvm::Value* address : addresses_used(*instruction)) follow(address, /*polled=*/true);
        }
        pending.append(instruction->value_op_begin(), instruction->value_op_end());
      }
    }
  }

  // Makes pointers of what the address is made of.
  void follow(const llvm::Value* address, bool polled = false) {
    for (const Origin& origin : origins_of(address)) {
      std::optional<size_t> pointer = pointer_of(*origin.value);
      if (pointer && polled) pointers_[*pointer].polled = true;
    }
  }

  // The pointer's index; nullopt: none that memory or an argument holds.
  std::optional<size_t> pointer_of(const llvm::Value& value) {
    if (auto known = known_.find(&value); known != known_.end()) return known->second;
    if (is_variable(value) || is_in_arguments(value)) return std::nullopt;  // known to be recorded
    if (auto* argument = llvm::dyn_cast<llvm::Argument>(&value)) {
      size_t index = add(value);
      pointers_[index].at.push_back(bundle::PointerPlace{-1, {}, arguments_[argument->getArgNo()].offset, 0});
      return index;
    }
    const llvm::Value* address = address_of(value);
    if (!address) return std::nullopt;
    size_t index = add(value);
    Origins origins = origins_of(address);
    std::vector<bundle::PointerPlace> places;
    for (const Origin& origin : origins) {
      // Which of the words that were copied is not looked into.
      uint64_t stride = llvm::isa<llvm::AnyMemTransferInst>(value) ? std::gcd(origin.stride, kWord) : origin.stride;
      bundle::PointerPlace place{-1, {}, origin.offset, stride};
      if (std::optional<size_t> holder = pointer_of(*origin.value)) {
        place.pointer = static_cast<int64_t>(*holder);
        places.push_back(std::move(place));
        continue;
      }
      if (place.offset < 0) {  // with a step it begins where the last whole one does
        if (place.stride == 0) continue;
        auto step = static_cast<int64_t>(place.stride);
        place.offset = (place.offset % step + step) % step;
      }
      if (auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(origin.value)) {
        place.symbol = variable->getName().str();
      } else if (is_in_arguments(*origin.value)) {
        place.offset += arguments_[llvm::cast<llvm::Argument>(origin.value)->getArgNo()].offset;
      } else {
        continue;
      }
      places.push_back(std::move(place));
    }
    pointers_[index].at = std::move(places);
    return index;
  }

  size_t add(const llvm::Value& value) {
    known_.emplace(&value, pointers_.size());
    pointers_.emplace_back();
    return pointers_.size() - 1;
  }

  // Of memory that the value was read from.
  static const llvm::Value* address_of(const llvm::Value& value) {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&value)) return load->getPointerOperand();
    if (auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&value)) return atomic->getPointerOperand();
    if (auto* atomic = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&value)) return atomic->getPointerOperand();
    if (auto* copy = llvm::dyn_cast<llvm::AnyMemTransferInst>(&value)) return copy->getRawSource();
    return nullptr;
  }

  bool is_variable(const llvm::Value& value) const { return llvm::isa<llvm::GlobalVariable>(value); }

  // A structure among the arguments is passed by a pointer to it.
  bool is_in_arguments(const llvm::Value& value) const {
    auto* argument = llvm::dyn_cast<llvm::Argument>(&value);
    return argument && argument->getParent() == &kernel_ && (argument->hasByRefAttr() || argument->hasByValAttr());
  }

  // That the value was read from, if a thread or a block has it for itself: then it was stored there before.
  static const llvm::Value* private_memory(const llvm::Value& value) {
    const llvm::Value* address = address_of(value);
    const llvm::Value* memory = address ? llvm::getUnderlyingObject(address) : nullptr;
    auto* variable = llvm::dyn_cast_or_null<llvm::GlobalVariable>(memory);
    bool is_shared = variable && variable->getAddressSpace() == kSharedSpace;
    return memory && (is_shared || llvm::isa<llvm::AllocaInst>(memory)) ? memory : nullptr;
  }

  // Values on the way from an address to its origins, each with how far behind it the address is.
  class Way {
   public:
    void go(const llvm::Value* value, int64_t offset) {
      auto [known, is_new] = offsets_.try_emplace(value, offset);
      if (is_new) {
        pending_.emplace_back(value, offset);
      } else {
        step(static_cast<uint64_t>(std::abs(offset - known->second)));  // around a loop
      }
    }
    void step(uint64_t bytes) { stride_ = std::gcd(stride_, bytes); }
    std::optional<std::pair<const llvm::Value*, int64_t>> next() {
      if (pending_.empty()) return std::nullopt;
      auto last = pending_.back();
      pending_.pop_back();
      return last;
    }
    uint64_t stride() const { return stride_; }

   private:
    std::map<const llvm::Value*, int64_t> offsets_;
    std::vector<std::pair<const llvm::Value*, int64_t>> pending_;
    uint64_t stride_ = 0;  // one for all: it says too much rather than too little
  };

  Origins origins_of(const llvm::Value* address) const {
    Origins origins;
    Way way;
    way.go(address, 0);
    while (auto next = way.next()) {
      auto [value, offset] = *next;
      if (const llvm::Value* memory = private_memory(*value)) {
        follow_stores(*memory, offset, way);
      } else if (!follow_arithmetic(*value, offset, way) && !follow_calls(*value, offset, way)) {
        if (is_variable(*value) || llvm::isa<llvm::Argument>(value) || address_of(*value))
          origins.push_back({value, offset, 0});
      }
    }
    for (Origin& origin : origins) origin.stride = way.stride();
    return origins;
  }

  // Values computed from others. False: it is none.
  bool follow_arithmetic(const llvm::Value& value, int64_t offset, Way& way) const {
    if (auto* element = llvm::dyn_cast<llvm::GEPOperator>(&value)) {
      unsigned bits = layout_.getIndexTypeSizeInBits(element->getType());
      llvm::MapVector<llvm::Value*, llvm::APInt> indices;
      llvm::APInt constant(bits, 0);
      if (element->getType()->isVectorTy() || !element->collectOffset(layout_, bits, indices, constant)) {
        way.step(1);
      } else {
        for (const auto& [index, scale] : indices) way.step(scale.abs().getLimitedValue(INT64_MAX));
        offset += constant.sextOrTrunc(64).getSExtValue();
      }
      way.go(element->getPointerOperand(), offset);
      return true;
    }
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&value)) {
      for (const llvm::Value* incoming : phi->incoming_values()) way.go(incoming, offset);
      return true;
    }
    if (auto* select = llvm::dyn_cast<llvm::SelectInst>(&value)) {
      way.go(select->getTrueValue(), offset);
      way.go(select->getFalseValue(), offset);
      return true;
    }
    if (llvm::isa<llvm::FreezeInst>(value)) {
      way.go(llvm::cast<llvm::User>(value).getOperand(0), offset);
      return true;
    }
    auto* operation = llvm::dyn_cast<llvm::Operator>(&value);
    if (!operation) return false;
    switch (operation->getOpcode()) {
      case llvm::Instruction::AddrSpaceCast:
      case llvm::Instruction::BitCast:
      case llvm::Instruction::IntToPtr:
      case llvm::Instruction::PtrToInt:
        way.go(operation->getOperand(0), offset);
        return true;
      case llvm::Instruction::ExtractValue:
        if (auto* inserted = llvm::FindInsertedValue(operation->getOperand(0),
                                                     llvm::cast<llvm::ExtractValueInst>(operation)->getIndices());
            inserted && inserted != &value) {
          way.go(inserted, offset);
          return true;
        }
        [[fallthrough]];
      case llvm::Instruction::ExtractElement:  // of one that was read: somewhere in it
        way.step(kWord);
        way.go(operation->getOperand(0), offset);
        return true;
      case llvm::Instruction::Add:
        if (auto* number = llvm::dyn_cast<llvm::ConstantInt>(operation->getOperand(1));
            number && number->getBitWidth() <= 64) {
          way.go(operation->getOperand(0), offset + number->getSExtValue());
          return true;
        }
        [[fallthrough]];
      case llvm::Instruction::Sub:
      case llvm::Instruction::Or:
      case llvm::Instruction::And:
      case llvm::Instruction::Xor:
        way.step(1);
        for (const llvm::Value* operand : operation->operand_values()) way.go(operand, offset);
        return true;
      default:
        return false;
    }
  }

  // Into functions that were not inlined, and out of them.
  bool follow_calls(const llvm::Value& value, int64_t offset, Way& way) const {
    if (auto* argument = llvm::dyn_cast<llvm::Argument>(&value); argument && argument->getParent() != &kernel_) {
      for (const llvm::User* user : argument->getParent()->users()) {
        auto* call = llvm::dyn_cast<llvm::CallBase>(user);
        if (call && call->getCalledFunction() == argument->getParent())
          way.go(call->getArgOperand(argument->getArgNo()), offset);
      }
      return true;
    }
    auto* call = llvm::dyn_cast<llvm::CallBase>(&value);
    if (!call || llvm::isa<llvm::AnyMemTransferInst>(value)) return false;
    if (auto* same = llvm::getArgumentAliasingToReturnedPointer(call, /*MustPreserveNullness=*/false)) {
      way.go(same, offset);
    } else if (const llvm::Function* callee = call->getCalledFunction()) {
      for (const llvm::BasicBlock& block : *callee) {
        auto* result = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator());
        if (result && result->getReturnValue()) way.go(result->getReturnValue(), offset);
      }
    }
    return true;
  }

  // To what is stored anywhere in private memory, and what is copied there.
  void follow_stores(const llvm::Value& memory, int64_t offset, Way& way) const {
    std::vector<const llvm::Value*> pending{&memory};
    for (size_t i = 0; i < pending.size(); ++i) {
      for (const llvm::User* user : pending[i]->users()) {
        if (auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
          if (store->getPointerOperand() == pending[i] && may_hold_pointer(*store->getValueOperand()->getType()))
            way.go(store->getValueOperand(), offset);
        } else if (auto* copy = llvm::dyn_cast<llvm::AnyMemTransferInst>(user)) {
          if (copy->getRawDest() == pending[i]) way.go(copy, offset);
        } else if (llvm::isa<llvm::GEPOperator, llvm::AddrSpaceCastOperator, llvm::BitCastOperator>(user)) {
          if (std::ranges::find(pending, user) == pending.end()) pending.push_back(user);
        }
      }
    }
  }

  bool may_hold_pointer(llvm::Type& type) const {
    return type.isPtrOrPtrVectorTy() || type.isAggregateType() || type.isIntOrIntVectorTy(64);
  }

  const llvm::DataLayout& layout_;
  const llvm::Function& kernel_;
  const std::vector<bundle::Argument>& arguments_;
  std::map<const llvm::Value*, size_t> known_;
  std::vector<bundle::Pointer> pointers_;
};

}  // namespace

std::vector<bundle::Pointer> pointers_followed(const llvm::Module& closure, llvm::StringRef kernel,
                                               const std::vector<bundle::Argument>& arguments) {
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(closure);
  simplify(*copy);
  const llvm::Function* function = copy->getFunction(kernel);
  return Following(*copy, *function, arguments).take();
}

}  // namespace mneme::inject
