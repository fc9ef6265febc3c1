// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/neutral/simplify.h"

#include <llvm/ADT/SCCIterator.h>
#include <llvm/Analysis/CallGraph.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/LowerAtomic.h>

#include "base/error.h"
#include "codegen/host/neutral/neutral.h"
#include "codegen/host/neutral/split_barriers.h"
#include "ir/optimize.h"

namespace mneme::codegen::host {
namespace {

bool calls_itself(llvm::CallGraphNode& node) {
  for (const auto& [call, callee] : node) {
    if (callee == &node) return true;
  }
  return false;
}

bool is_shared(const llvm::Value* pointer) {
  auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(llvm::getUnderlyingObject(pointer));
  return variable && is_blocks_own(*variable);
}

// The address of an atomic access, else null.
const llvm::Value* atomic_pointer(const llvm::Instruction& instruction) {
  if (!instruction.isAtomic()) return nullptr;
  if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) return update->getPointerOperand();
  if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) return exchange->getPointerOperand();
  return llvm::getLoadStorePointerOperand(&instruction);
}

// Lowers one instruction, and marks the accesses that took its place.
void relax_between(llvm::Instruction& instruction, llvm::function_ref<void()> lower) {
  llvm::BasicBlock* block = instruction.getParent();
  llvm::Instruction* before = instruction.getPrevNode();
  llvm::Instruction* after = instruction.getNextNode();
  lower();
  llvm::Instruction* first = before ? before->getNextNode() : &block->front();
  for (llvm::Instruction* made = first; made != after; made = made->getNextNode()) {
    if (made->mayReadOrWriteMemory()) mark_item_ordered(*made);
  }
}

bool is_query(llvm::Value* value, Query query) { return queried_dimension(*value, query).has_value(); }

// With product = blockIdx * stride, the stride: 0 if that is the block's size, nothing if it is no such product.
std::optional<uint32_t> stride_of(llvm::Value* product, unsigned& dimension) {
  using namespace llvm::PatternMatch;
  // Those of blocks that programs write down are no larger; larger ones would keep large grids from being launched.
  constexpr uint64_t kMostStride = 4096;
  llvm::Value *group = nullptr, *factor = nullptr;
  uint64_t number = 0;
  if (match(product, m_Shl(m_Value(group), m_ConstantInt(number)))) {
    if (number > 31) return std::nullopt;
    number = uint64_t{1} << number;
  } else if (match(product, m_Mul(m_Value(group), m_Value(factor)))) {
    if (is_query(group, Query::kLocalSize)) std::swap(group, factor);
    if (!is_query(factor, Query::kLocalSize) && !match(factor, m_ConstantInt(number))) return std::nullopt;
  } else {
    return std::nullopt;
  }
  std::optional<unsigned> asked = queried_dimension(*group, Query::kGroupId);
  if (!asked || number > kMostStride) return std::nullopt;
  dimension = *asked;
  return static_cast<uint32_t>(number);
}

// blockIdx times the stride is less than a launch may have work-items.
void bound_group_ids(llvm::Module& module, const std::array<uint32_t, 3>& strides) {
  llvm::MDBuilder metadata(module.getContext());
  for (llvm::Function& function : module) {
    for (auto& [call, operation] : operations_in(function)) {
      if (operation.kind != OperationKind::kQuery || operation.query != Query::kGroupId) continue;
      uint32_t stride = strides[operation.dimension];
      if (!stride) continue;
      llvm::MDNode* range = metadata.createRange(llvm::APInt(32, 0), llvm::APInt(32, INT32_MAX / stride));
      call->setMetadata(llvm::LLVMContext::MD_range, range);
    }
  }
}

}  // namespace

void inline_into_kernel(llvm::Module& module) {
  // Code that calls long functions over and over would take LLVM minutes once all of it were in one place: LLVM's own
  // inliner then decides, but for functions that converge, may wait or end.
  constexpr uint64_t kTooManyInstructions = 15000, kAlwaysInlined = 100;
  llvm::CallGraph graph(module);
  // What a function would have if all were inlined into it; and those that must be, for what they do is the caller's.
  llvm::DenseMap<llvm::Function*, uint64_t> sizes;
  llvm::SmallPtrSet<llvm::Function*, 8> converging;
  std::vector<llvm::Function*> inlined;
  for (auto component = llvm::scc_begin(&graph); !component.isAtEnd(); ++component) {
    bool recursive = component->size() > 1 || calls_itself(*component->front());
    for (llvm::CallGraphNode* node : *component) {
      llvm::Function* function = node->getFunction();
      if (!function || function->isDeclaration()) continue;
      uint64_t size = function->getInstructionCount();
      for (const llvm::Instruction& instruction : llvm::instructions(*function)) {
        if (instruction.isAtomic() || instruction.isVolatile()) converging.insert(function);
      }
      for (const auto& [call, callee] : *node) {
        llvm::Function* called = callee->getFunction();
        if (!called) continue;
        size = std::min(size + sizes.lookup(called), uint64_t{1} << 32);
        auto operation = operation_of(*called);
        if (is_end(*called) || is_split_barrier(*called) || (operation && is_convergence_point(*operation)) ||
            converging.contains(called)) {
          converging.insert(function);
        }
      }
      sizes[function] = size;
      if (!recursive) inlined.push_back(function);
    }
  }
  bool small = llvm::all_of(sizes, [](const auto& sized) { return sized.second <= kTooManyInstructions; });
  for (llvm::Function* function : inlined) {
    // It changes how the processor rounds, which must hold for nothing of its caller's.
    if (function->hasFnAttribute(llvm::Attribute::StrictFP)) {
      function->addFnAttr(llvm::Attribute::NoInline);
      continue;
    }
    if (small || sizes[function] <= kAlwaysInlined || converging.contains(function)) {
      function->addFnAttr(llvm::Attribute::AlwaysInline);
    }
  }
  ir::optimize(module, "always-inline,globaldce", nullptr);
  // What is there but never reached would still be a convergence point.
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) llvm::removeUnreachableBlocks(function);
  }
}

void return_at_ends(llvm::Module& module, const bundle::KernelInfo& kernel) {
  llvm::Function* end = nullptr;
  for (llvm::Function& function : module) {
    if (is_end(function)) end = &function;
  }
  if (!end) return;
  for (llvm::User* user : llvm::make_early_inc_range(end->users())) {
    auto* call = llvm::cast<llvm::CallInst>(user);
    if (call->getFunction()->getName() != kernel.name) {
      throw Error::of(
          "kernel '{}' ends threads in '{}', a function that is recursive or called through a pointer, "
          "which the host device does not have",
          kernel.demangled, call->getFunction()->getName().str());
    }
    llvm::BasicBlock* block = call->getParent();
    llvm::changeToUnreachable(call);
    llvm::Instruction* last = block->getTerminator();
    llvm::ReturnInst::Create(module.getContext(), nullptr, last->getIterator());
    last->eraseFromParent();
  }
  end->eraseFromParent();
}

// Conditional branches stay: where two have one condition, simplifycfg leads each lane from the first right into a side
// of the second, past the place where the lanes join in between.
void promote_locals(llvm::Module& module) {
  ir::optimize(module,
               "function(sroa,early-cse,simplifycfg<no-simplify-cond-branch>,instcombine<no-verify-fixpoint>,sroa),"
               "globaldce",
               nullptr);
}

void relax_shared_atomics(llvm::Module& module) {
  for (llvm::Function& function : module) {
    std::vector<llvm::Instruction*> atomics;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      const llvm::Value* pointer = atomic_pointer(instruction);
      if (pointer && is_shared(pointer)) atomics.push_back(&instruction);
    }
    for (llvm::Instruction* instruction : atomics) {
      if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(instruction)) {
        relax_between(*update, [&] { llvm::lowerAtomicRMWInst(update); });
      } else if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(instruction)) {
        relax_between(*exchange, [&] { llvm::lowerAtomicCmpXchgInst(exchange); });
      } else if (auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
        load->setAtomic(llvm::AtomicOrdering::NotAtomic);
        mark_item_ordered(*load);
      } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(instruction)) {
        store->setAtomic(llvm::AtomicOrdering::NotAtomic);
        mark_item_ordered(*store);
      }
    }
  }
}

std::array<uint32_t, 3> mark_global_ids(llvm::Module& module) {
  using namespace llvm::PatternMatch;
  std::array<uint32_t, 3> strides = {};
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      llvm::Value *product = nullptr, *local = nullptr;
      unsigned dimension = 0;
      if (!match(&instruction, m_c_Add(m_Value(product), m_Value(local)))) continue;
      if (is_query(product, Query::kLocalId)) std::swap(product, local);
      if (!is_query(local, Query::kLocalId)) continue;
      std::optional<uint32_t> stride = stride_of(product, dimension);
      if (!stride) continue;
      strides[dimension] = std::max(strides[dimension], *stride);
      for (auto* sum : {llvm::cast<llvm::Instruction>(product), &instruction}) {
        sum->setHasNoUnsignedWrap();
        sum->setHasNoSignedWrap();
      }
    }
  }
  bound_group_ids(module, strides);
  return strides;
}

bool depends_on_order(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      if (llvm::isa<llvm::AtomicCmpXchgInst>(instruction)) return true;
      auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction);
      if (!update) continue;
      if (!update->use_empty()) return true;
      switch (update->getOperation()) {
        case llvm::AtomicRMWInst::Add:
        case llvm::AtomicRMWInst::Sub:
        case llvm::AtomicRMWInst::And:
        case llvm::AtomicRMWInst::Or:
        case llvm::AtomicRMWInst::Xor:
        case llvm::AtomicRMWInst::Max:
        case llvm::AtomicRMWInst::Min:
        case llvm::AtomicRMWInst::UMax:
        case llvm::AtomicRMWInst::UMin:
          break;
        default:
          return true;
      }
    }
  }
  return false;
}

}  // namespace mneme::codegen::host
