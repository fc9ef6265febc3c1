// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/sync/shared_access.h"

#include <fmt/format.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <optional>

#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {

Spaces::Spaces(const llvm::Module& module, const llvm::Function* kernel)
    : kernel_(kernel), has_shared_(llvm::any_of(module.globals(), is_blocks_own)) {}

std::optional<Space> Spaces::of(const llvm::Value* pointer) const {
  llvm::SmallVector<const llvm::Value*, 4> objects;
  llvm::getUnderlyingObjects(pointer, objects, nullptr, 0);
  std::optional<Space> found;
  for (const llvm::Value* object : objects) {
    std::optional<Space> space = of_object(object);
    if (space) found = !found || found == space ? space : Space::kEither;
  }
  return found;
}

// A number that the host passed, and that more is added to, which is no address: of 32 bits, or a multiple.
bool Spaces::is_number_from_outside(const llvm::Value* number) const {
  if (auto* sum = llvm::dyn_cast<llvm::AddOperator>(number)) {
    auto is_distance = [](const llvm::Value* part) {
      if (llvm::isa<llvm::ConstantInt, llvm::ZExtInst, llvm::SExtInst>(part)) return true;
      auto* operation = llvm::dyn_cast<llvm::Instruction>(part);
      return operation &&
             (operation->getOpcode() == llvm::Instruction::Shl || operation->getOpcode() == llvm::Instruction::Mul);
    };
    const llvm::Value *first = sum->getOperand(0), *second = sum->getOperand(1);
    return (is_distance(second) && is_number_from_outside(first)) ||
           (is_distance(first) && is_number_from_outside(second));
  }
  auto* load = llvm::dyn_cast<llvm::LoadInst>(number);
  return load && of_object(load) == Space::kGlobal;
}

std::optional<Space> Spaces::of_object(const llvm::Value* object) const {
  if (auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(object)) {
    if (is_blocks_own(*variable)) return Space::kShared;
    if (variable->isConstant()) return std::nullopt;
    return Space::kGlobal;
  }
  if (llvm::isa<llvm::AllocaInst, llvm::UndefValue, llvm::ConstantPointerNull>(object)) return std::nullopt;
  Space either = has_shared_ ? Space::kEither : Space::kGlobal;
  if (auto* argument = llvm::dyn_cast<llvm::Argument>(object)) {
    return argument->getParent() == kernel_ ? Space::kGlobal : either;
  }
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(object)) {
    const llvm::Value* from = llvm::getUnderlyingObject(load->getPointerOperand());
    auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(from);
    auto* argument = llvm::dyn_cast<llvm::Argument>(from);
    bool from_outside = (variable && !is_blocks_own(*variable)) || (argument && argument->getParent() == kernel_);
    return from_outside ? Space::kGlobal : either;
  }
  if (auto* address = llvm::dyn_cast<llvm::IntToPtrInst>(object)) {
    return is_number_from_outside(address->getOperand(0)) ? Space::kGlobal : either;
  }
  if (auto operation = operation_at(*object)) {
    // Whoever asks for memory of the wave's synchronises its lanes.
    if (operation->kind == OperationKind::kWaveMemory) return std::nullopt;
    return Space::kGlobal;
  }
  return either;
}

std::vector<SharedAccess> shared_accesses(llvm::Function& function, const Spaces& spaces, Calls calls) {
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  std::vector<SharedAccess> accesses;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto add = [&](llvm::Value* pointer, uint64_t size, bool reads, bool writes) {
      std::optional<Space> space = spaces.of(pointer);
      if (!space) return;
      accesses.push_back(
          {&instruction, pointer, size, *space, reads, writes, instruction.isAtomic(), instruction.isVolatile()});
    };
    auto size_of = [&](llvm::Type* type) { return layout.getTypeStoreSize(type).getFixedValue(); };
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      if (!load->hasMetadata(llvm::LLVMContext::MD_invariant_load)) {
        add(load->getPointerOperand(), size_of(load->getType()), true, false);
      }
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      add(store->getPointerOperand(), size_of(store->getValueOperand()->getType()), false, true);
    } else if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      add(update->getPointerOperand(), size_of(update->getType()), true, true);
    } else if (auto* swap = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
      add(swap->getPointerOperand(), size_of(swap->getCompareOperand()->getType()), true, true);
    } else if (auto* bytes = llvm::dyn_cast<llvm::AnyMemIntrinsic>(&instruction)) {
      auto* size = llvm::dyn_cast<llvm::ConstantInt>(bytes->getLength());
      uint64_t count = size ? size->getZExtValue() : 0;
      add(bytes->getRawDest(), count, false, true);
      auto* copy = llvm::dyn_cast<llvm::AnyMemTransferInst>(bytes);
      if (copy) add(copy->getRawSource(), count, true, false);
    } else if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
      if (llvm::isa<llvm::IntrinsicInst>(call) || operation_at(*call) || call->doesNotAccessMemory()) continue;
      bool is_known = !call->getCalledFunction() || !call->getCalledFunction()->isDeclaration();
      if (is_known && calls == Calls::kNothing) continue;
      bool writes = !is_known || calls == Calls::kWrite;
      accesses.push_back({call, nullptr, 0, Space::kEither, true, writes, false, true});
    }
  }
  return accesses;
}

std::string describe(const SharedAccess& access) {
  std::string text = access.atomic && access.writes ? "the atomic operation on"
                     : access.writes                ? "the store to"
                                                    : "the load from";
  const llvm::Value* object = access.pointer ? llvm::getUnderlyingObject(access.pointer, 0) : nullptr;
  if (!access.pointer) {
    text = "the call";
  } else if (object->hasName() && llvm::isa<llvm::GlobalVariable, llvm::Argument>(object)) {
    text += fmt::format(" '{}'", llvm::demangle(object->getName()));
  } else {
    text += access.space == Space::kShared   ? " shared memory"
            : access.space == Space::kGlobal ? " global memory"
                                             : " memory";
  }
  const llvm::DILocation* line = access.instruction->getDebugLoc();
  if (line && line->getLine()) text += fmt::format(" at {}:{}", line->getFilename(), line->getLine());
  return text;
}

}  // namespace mneme::codegen::host
