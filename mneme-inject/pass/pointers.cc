// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pass/pointers.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "pass/origins.h"

namespace mneme::inject {
namespace {

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

// What an instruction reads or writes through; calls of functions that are not known, through all that they are given.
std::vector<const llvm::Value*> addresses_used(const llvm::Instruction& instruction) {
  if (const llvm::Value* address = llvm::getLoadStorePointerOperand(&instruction)) return {address};
  if (auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) return {atomic->getPointerOperand()};
  if (auto* atomic = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) return {atomic->getPointerOperand()};
  std::vector<const llvm::Value*> addresses;
  auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  if (!call || (intrinsic && intrinsic->isAssumeLikeIntrinsic())) return {};
  if (const llvm::Function* callee = call->getCalledFunction(); callee && !callee->isDeclaration()) return {};
  for (const llvm::Value* argument : call->args()) {
    if (argument->getType()->isPointerTy()) addresses.push_back(argument);
  }
  return addresses;
}

// Values of 64 bits that were read from memory, and from which the elements' numbers are computed on the way to an
// address. One that was made of fewer bits leads nowhere far.
class Numbers {
 public:
  explicit Numbers(const llvm::Value& address) { look_at(&address); }
  std::vector<const llvm::LoadInst*> take() {
    while (!pending_.empty()) step(*pending_.pop_back_val());
    return std::move(found_);
  }

 private:
  void look_at(const llvm::Value* value) {
    if (seen_.insert(value).second) pending_.push_back(value);
  }

  void step(const llvm::Value& value) {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&value)) {
      if (load->getType()->isIntegerTy(64) && !private_memory(*load->getPointerOperand())) found_.push_back(load);
      return;
    }
    auto* operation = llvm::dyn_cast<llvm::Operator>(&value);
    if (!operation) return;
    switch (operation->getOpcode()) {
      case llvm::Instruction::Add:
      case llvm::Instruction::Sub:
      case llvm::Instruction::Mul:
      case llvm::Instruction::Shl:
      case llvm::Instruction::Or:
      case llvm::Instruction::Xor:
        if (!operation->getType()->isIntegerTy(64)) return;
        [[fallthrough]];
      case llvm::Instruction::GetElementPtr:
      case llvm::Instruction::PHI:
      case llvm::Instruction::Select:
      case llvm::Instruction::Freeze:
      case llvm::Instruction::AddrSpaceCast:
      case llvm::Instruction::IntToPtr:
        for (const llvm::Value* operand : operation->operand_values()) look_at(operand);
        return;
      default:
        return;
    }
  }

  llvm::SmallVector<const llvm::Value*> pending_;
  llvm::SmallPtrSet<const llvm::Value*, 16> seen_;
  std::vector<const llvm::LoadInst*> found_;
};

class Following {
 public:
  Following(const llvm::Module& module, const llvm::Function& kernel, const std::vector<bundle::Argument>& arguments)
      : origins_(module, kernel), arguments_(arguments) {
    for (const llvm::Function& function : module) {
      for (const llvm::Instruction& instruction : llvm::instructions(function)) {
        for (const llvm::Value* address : addresses_used(instruction)) follow(*address);
      }
      if (!function.isDeclaration()) note_polling(function);
    }
  }

  std::vector<bundle::Pointer> take() { return std::move(pointers_); }

 private:
  // Loops that do nothing but read what others may write: they wait for it.
  void note_polling(const llvm::Function& function) {
    llvm::DominatorTree dominators(const_cast<llvm::Function&>(function));
    llvm::LoopInfo loops(dominators);
    for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
      if (does_work(*loop)) continue;
      const bool fenced = has_fence(*loop);  // then ordinary reads are made anew, too
      for (const llvm::BasicBlock* block : loop->blocks()) {
        for (const llvm::Instruction& instruction : *block) {
          bool reads_anew = instruction.isVolatile() || instruction.isAtomic() || fenced;
          if (!reads_anew || !instruction.mayReadFromMemory()) continue;
          for (const llvm::Value* address : addresses_used(instruction)) follow(*address, /*polled=*/true);
        }
      }
    }
  }

  static bool has_fence(const llvm::Loop& loop) {
    return llvm::any_of(loop.blocks(), [](const llvm::BasicBlock* block) {
      return llvm::any_of(*block, [](const llvm::Instruction& instruction) {
        auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        return llvm::isa<llvm::FenceInst>(instruction) || (call && call->isConvergent());
      });
    });
  }

  // Writes memory that others read, or computes more than how often it has looked.
  static bool does_work(const llvm::Loop& loop) {
    for (const llvm::BasicBlock* block : loop.blocks()) {
      for (const llvm::Instruction& instruction : *block) {
        auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
        if (store && !private_memory(*store->getPointerOperand())) return true;
      }
    }
    auto is_number = [](const llvm::PHINode& phi) { return !phi.getType()->isIntegerTy(1); };
    return llvm::count_if(loop.getHeader()->phis(), is_number) > 1;
  }

  // Makes pointers of what the address is made of.
  void follow(const llvm::Value& address, bool polled = false) {
    const auto [origins, complete] = origins_.of(address);
    for (const Origin& origin : origins) {
      std::optional<size_t> pointer = pointer_of(origin.word);
      if (pointer && polled) pointers_[*pointer].polled = true;
    }
    if (!complete && !std::exchange(has_others_, true)) pointers_.emplace_back();
    for (const llvm::LoadInst* number : Numbers(address).take()) add_number(*number);
  }

  void add_number(const llvm::LoadInst& number) {
    if (!numbers_.insert(&number).second) return;
    bundle::Pointer read;
    read.number = true;
    for (const Origin& origin : origins_.of(*number.getPointerOperand()).origins) {
      if (origin.behind.stride > 0 || !origin.behind.arrays.empty()) continue;
      if (auto place = place_of(origin, {})) read.at.push_back(std::move(*place));
    }
    bool is_new = !read.at.empty() && llvm::find(pointers_, read) == pointers_.end();
    if (is_new) pointers_.push_back(std::move(read));
  }

  // The pointer's index; nullopt: none that memory or an argument holds.
  std::optional<size_t> pointer_of(const Word& word) {
    std::tuple key(word.value, word.within.offset, word.within.stride);
    if (auto known = known_.find(key); known != known_.end()) return known->second;
    if (is_variable(word) || is_in_arguments(word)) return std::nullopt;  // known to be recorded
    auto* argument = llvm::dyn_cast<llvm::Argument>(word.value);
    const llvm::Value* address = argument ? nullptr : Origins::address_of(*word.value);
    if (!argument && !address) return std::nullopt;
    size_t index = pointers_.size();
    known_.emplace(key, index);
    pointers_.emplace_back();
    std::vector<bundle::PointerPlace> places;
    if (argument) places.push_back({-1, {}, arguments_[argument->getArgNo()].offset, 0, {}});
    if (address) {
      for (const Origin& origin : origins_.of(*address).origins) {
        if (auto place = place_of(origin, word.within)) places.push_back(std::move(*place));
      }
    }
    pointers_[index].at = std::move(places);
    return index;
  }

  // Of a word that was read so far behind what the origin points to.
  std::optional<bundle::PointerPlace> place_of(const Origin& origin, const Displacement& within) {
    Displacement behind = origin.behind;
    behind.add(within);
    bundle::PointerPlace place{-1, {}, behind.offset, behind.stride, behind.arrays};
    if (std::optional<size_t> holder = pointer_of(origin.word)) {
      place.pointer = static_cast<int64_t>(*holder);
      return place;
    }
    if (place.offset < 0) {
      if (place.stride == 0) return std::nullopt;
      auto step = static_cast<int64_t>(place.stride);
      place.offset = (place.offset % step + step) % step;
    }
    if (is_variable(origin.word)) {
      place.symbol = origin.word.value->getName().str();
    } else if (is_in_arguments(origin.word)) {
      place.offset += arguments_[llvm::cast<llvm::Argument>(origin.word.value)->getArgNo()].offset;
    } else {
      return std::nullopt;
    }
    return place;
  }

  static bool is_variable(const Word& word) { return llvm::isa<llvm::GlobalVariable>(word.value); }

  // A structure among the arguments is passed by a pointer to it.
  static bool is_in_arguments(const Word& word) {
    auto* argument = llvm::dyn_cast<llvm::Argument>(word.value);
    return argument && (argument->hasByRefAttr() || argument->hasByValAttr());
  }

  const Origins origins_;
  const std::vector<bundle::Argument>& arguments_;
  std::map<std::tuple<const llvm::Value*, int64_t, uint64_t>, size_t> known_;
  llvm::SmallPtrSet<const llvm::LoadInst*, 16> numbers_;
  std::vector<bundle::Pointer> pointers_;
  bool has_others_ = false;  // one of them stands for all of which it is not known where they lie
};

}  // namespace

std::unique_ptr<llvm::Module> simplified_copy(const llvm::Module& closure) {
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(closure);
  simplify(*copy);
  return copy;
}

std::vector<bundle::Pointer> pointers_followed(const llvm::Module& simplified, llvm::StringRef kernel,
                                               const std::vector<bundle::Argument>& arguments) {
  return Following(simplified, *simplified.getFunction(kernel), arguments).take();
}

}  // namespace mneme::inject
