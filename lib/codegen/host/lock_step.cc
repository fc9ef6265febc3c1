// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/lock_step.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include "codegen/host/neutral.h"
#include "codegen/host/overwrites.h"
#include "codegen/host/shared_exchanges.h"

namespace mneme::codegen::host {
namespace {

std::optional<Operation> operation_at(const llvm::Instruction& instruction) {
  auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  if (!call || !call->getCalledFunction()) return std::nullopt;
  return operation_of(*call->getCalledFunction());
}

bool is_place(const llvm::Instruction& instruction) {
  auto operation = operation_at(instruction);
  return operation && (is_block_place(*operation) || is_wave_place(*operation));
}

bool is_shared(const llvm::GlobalVariable& variable) {
  MemoryClass memory = memory_class(variable);
  return memory == MemoryClass::kShared || memory == MemoryClass::kSharedDynamic;
}

// Which pointers may lead to shared memory.
class SharedMemory {
 public:
  SharedMemory(const llvm::Module& module, const std::string& kernel) : kernel_(module.getFunction(kernel)) {
    exists_ = llvm::any_of(module.globals(), is_shared);
  }

  bool exists() const { return exists_; }
  bool may_hold(const llvm::Value* pointer) const {
    if (!exists_) return false;
    llvm::SmallVector<const llvm::Value*, 4> objects;
    llvm::getUnderlyingObjects(pointer, objects, nullptr, 0);
    return llvm::any_of(objects, [&](const llvm::Value* object) { return may_be(object); });
  }

 private:
  bool may_be(const llvm::Value* object) const {
    if (auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(object)) return is_shared(*variable);
    if (auto* argument = llvm::dyn_cast<llvm::Argument>(object)) return argument->getParent() != kernel_;
    if (llvm::isa<llvm::AllocaInst>(object)) return false;
    // A pointer in memory: nobody keeps one to shared memory beyond the block.
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(object)) {
      const llvm::Value* from = llvm::getUnderlyingObject(load->getPointerOperand());
      auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(from);
      auto* argument = llvm::dyn_cast<llvm::Argument>(from);
      return !(variable && !is_shared(*variable)) && !(argument && argument->getParent() == kernel_);
    }
    if (auto* call = llvm::dyn_cast<llvm::Instruction>(object)) return !operation_at(*call);
    return !llvm::isa<llvm::Constant>(object);
  }

  const llvm::Function* kernel_;
  bool exists_;
};

bool within_block(const llvm::FenceInst& fence) {
  llvm::SmallVector<llvm::StringRef, 8> names;
  fence.getContext().getSyncScopeNames(names);
  llvm::StringRef name = fence.getSyncScopeID() < names.size() ? names[fence.getSyncScopeID()] : "";
  return name.starts_with("workgroup") || name.starts_with("wavefront") || name.starts_with("singlethread");
}

// What a search beside a fence comes to first: memory's users end it, and so do ways that part or join.
constexpr unsigned kSearchedBlocks = 8;

bool passes_over(const llvm::Instruction& instruction) {
  return llvm::isa<llvm::FenceInst>(instruction) || !instruction.mayReadOrWriteMemory();
}

bool place_before(const llvm::Instruction& fence) {
  const llvm::BasicBlock* block = fence.getParent();
  const llvm::Instruction* at = fence.getPrevNode();
  for (unsigned searched = 0; block && searched < kSearchedBlocks; ++searched) {
    for (; at; at = at->getPrevNode()) {
      if (is_place(*at)) return true;
      if (!passes_over(*at)) return false;
    }
    block = block->getSinglePredecessor();
    if (block) at = block->getTerminator();
  }
  return false;
}

bool place_behind(const llvm::Instruction& fence) {
  const llvm::BasicBlock* block = fence.getParent();
  const llvm::Instruction* at = fence.getNextNode();
  for (unsigned searched = 0; block && searched < kSearchedBlocks; ++searched) {
    for (; at; at = at->getNextNode()) {
      if (is_place(*at)) return true;
      if (!passes_over(*at)) return false;
    }
    block = block->getSingleSuccessor();
    if (block) at = &block->front();
  }
  return false;
}

void meet_at_fences(llvm::Function& function, bool wanted) {
  std::vector<llvm::FenceInst*> fences;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (auto* fence = llvm::dyn_cast<llvm::FenceInst>(&instruction)) fences.push_back(fence);
  }
  for (llvm::FenceInst* fence : fences) {
    if (wanted && !place_before(*fence) && !place_behind(*fence)) {
      llvm::IRBuilder<> builder(fence);
      call_wave_meet(builder);
    }
    if (within_block(*fence)) fence->eraseFromParent();
  }
}

// How shared memory has been used since the lanes met last.
struct Used {
  bool read = false, written = false;
  bool operator==(const Used&) const = default;
  Used operator|(const Used& other) const { return {read || other.read, written || other.written}; }
};

class Volatiles {
 public:
  Volatiles(llvm::Function& function, const SharedMemory& shared, bool is_kernel)
      : function_(function), shared_(shared) {
    if (!is_kernel) at_start_[&function.getEntryBlock()] = {true, true};
  }

  void meet() {
    bool any = false;
    for (llvm::Instruction& instruction : llvm::instructions(function_)) {
      if (!instruction.mayReadOrWriteMemory() || is_place(instruction)) continue;
      Access access = access_of(instruction);
      any |= access.in_step;
      if (access.reads || access.writes) accesses_[&instruction] = access;
    }
    if (!any) return;
    for (bool changed = true; changed;) {
      changed = false;
      for (llvm::BasicBlock& block : function_) {
        Used end = pass(block, [](llvm::Instruction&) {});
        for (llvm::BasicBlock* next : llvm::successors(&block)) {
          Used joined = at_start_[next] | end;
          changed |= joined != at_start_[next];
          at_start_[next] = joined;
        }
      }
    }
    std::vector<llvm::Instruction*> before;
    for (llvm::BasicBlock& block : function_) {
      pass(block, [&](llvm::Instruction& access) { before.push_back(&access); });
    }
    for (llvm::Instruction* access : before) {
      llvm::IRBuilder<> builder(access);
      call_wave_meet(builder);
    }
  }

 private:
  struct Access {
    bool reads = false, writes = false, in_step = false;
  };

  Access access_of(const llvm::Instruction& instruction) const {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      bool touches = shared_.may_hold(load->getPointerOperand());
      return {touches, false, touches && load->isVolatile()};
    }
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      bool touches = shared_.may_hold(store->getPointerOperand());
      return {false, touches, touches && store->isVolatile()};
    }
    if (operation_at(instruction)) return {};
    return {instruction.mayReadFromMemory(), instruction.mayWriteToMemory(), false};
  }

  // Goes through a block; `meets` is called with each access that lanes must meet before.
  Used pass(llvm::BasicBlock& block, llvm::function_ref<void(llvm::Instruction&)> meets) {
    Used used = at_start_[&block];
    for (llvm::Instruction& instruction : block) {
      if (is_place(instruction)) used = {};
      auto found = accesses_.find(&instruction);
      if (found == accesses_.end()) continue;
      const Access& access = found->second;
      if (access.in_step && (used.written || (access.writes && used.read))) {
        meets(instruction);
        used = {};
      }
      used = used | Used{access.reads, access.writes};
    }
    return used;
  }

  llvm::Function& function_;
  const SharedMemory& shared_;
  llvm::DenseMap<const llvm::BasicBlock*, Used> at_start_;
  llvm::DenseMap<const llvm::Instruction*, Access> accesses_;
};

}  // namespace

void meet_in_lock_step(llvm::Module& module, const std::string& kernel) {
  SharedMemory shared(module, kernel);
  if (shared.exists()) meet_before_overwriting(module);
  bool at_fences = shared.exists() || lanes_meet(module);
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    meet_at_fences(function, at_fences);
    if (shared.exists()) Volatiles(function, shared, function.getName() == kernel).meet();
  }
  llvm::Function* entry = module.getFunction(kernel);
  if (shared.exists() && entry) meet_before_exchanges(*entry);
}

}  // namespace mneme::codegen::host
