// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/store_types.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include <map>

#include "codegen/host/neutral.h"

namespace mneme::codegen::host {
namespace {

constexpr char kMixed[] = "mixed";

// As verify/element_type.h spells them; pointers are compared as the integers that they are.
std::string type_name(const llvm::Type* type) {
  if (type->isVectorTy()) return type_name(type->getScalarType());
  if (type->isHalfTy()) return "f16";
  if (type->isBFloatTy()) return "bf16";
  if (type->isFloatTy()) return "f32";
  if (type->isDoubleTy()) return "f64";
  if (type->isPointerTy() || type->isIntegerTy(64)) return "i64";
  if (type->isIntegerTy(32)) return "i32";
  if (type->isIntegerTy(16)) return "i16";
  if (type->isIntegerTy(8) || type->isIntegerTy(1)) return "i8";
  if (auto* array = llvm::dyn_cast<llvm::ArrayType>(type)) return type_name(array->getElementType());
  return kMixed;
}

// Whether bits of another type are stored as if they were of this one: __int_as_float(), or a float4 of which one part
// is an index. Looks through what puts values together and chooses among them.
bool holds_other_bits(const llvm::Value* value) {
  llvm::SmallPtrSet<const llvm::Value*, 8> seen;
  llvm::SmallVector<const llvm::Value*, 8> open{value};
  while (!open.empty()) {
    auto* user = llvm::dyn_cast<llvm::User>(open.pop_back_val());
    if (!user || !seen.insert(user).second) continue;
    if (auto* cast = llvm::dyn_cast<llvm::BitCastOperator>(user)) {
      if (cast->getSrcTy()->getScalarType() != cast->getDestTy()->getScalarType()) return true;
    }
    bool puts_together = llvm::isa<llvm::BitCastOperator, llvm::PHINode, llvm::SelectInst, llvm::InsertElementInst,
                                   llvm::ExtractElementInst, llvm::ShuffleVectorInst, llvm::InsertValueInst,
                                   llvm::ExtractValueInst, llvm::FreezeInst>(user);
    if (puts_together) open.append(user->value_op_begin(), user->value_op_end());
  }
  return false;
}

std::string stored_type(const llvm::Value* value) {
  bool is_floating = value->getType()->getScalarType()->isFloatingPointTy();
  return is_floating && holds_other_bits(value) ? kMixed : type_name(value->getType());
}

class Stores {
 public:
  Stores(const llvm::Module& module, const bundle::KernelInfo& kernel)
      : kernel_(kernel), function_(module.getFunction(kernel.name)), layout_(module.getDataLayout()) {
    for (const llvm::Function& function : module) {
      for (const llvm::Instruction& instruction : llvm::instructions(function)) note(instruction);
    }
  }

  std::vector<bundle::StoreType> result() const {
    std::vector<bundle::StoreType> all;
    for (const auto& [origin, type] : types_) all.push_back({origin.first, origin.second, type});
    return all;
  }

 private:
  using Origin = std::pair<int64_t, std::string>;  // as in bundle::StoreType

  void note(const llvm::Instruction& instruction) {
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      note(store->getPointerOperand(), stored_type(store->getValueOperand()));
    } else if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      note(update->getPointerOperand(), stored_type(update->getValOperand()));
    } else if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
      note(exchange->getPointerOperand(), type_name(exchange->getNewValOperand()->getType()));
    } else if (auto* fill = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) {
      auto* set = llvm::dyn_cast<llvm::MemSetInst>(fill);
      if (!set || !llvm::isa<llvm::Constant>(set->getValue()) ||
          !llvm::cast<llvm::Constant>(set->getValue())->isNullValue()) {
        note(fill->getDest(), kMixed);
      }
    } else if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
      note_call(*call);
    }
  }

  // What is not defined here may write to whatever it is given.
  void note_call(const llvm::CallBase& call) {
    const llvm::Function* callee = call.getCalledFunction();
    auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&call);
    if ((intrinsic && intrinsic->isAssumeLikeIntrinsic()) || (callee && !callee->isDeclaration()) ||
        call.onlyReadsMemory()) {
      return;
    }
    for (unsigned i = 0; i < call.arg_size(); ++i) {
      const llvm::Value* given = call.getArgOperand(i);
      if (given->getType()->isPointerTy() && !call.onlyReadsMemory(i)) note(given, kMixed);
    }
  }

  void note(const llvm::Value* pointer, const std::string& type) {
    llvm::SmallVector<const llvm::Value*, 4> objects;
    llvm::getUnderlyingObjects(pointer, objects, nullptr, 0);
    for (const llvm::Value* object : objects) {
      std::optional<Origin> origin = origin_of(object);
      if (!origin) continue;
      auto [found, fresh] = types_.emplace(*origin, type);
      if (!fresh && found->second != type) found->second = kMixed;
    }
  }

  // nullopt: memory that is no segment.
  std::optional<Origin> origin_of(const llvm::Value* object) const {
    const Origin kOther(-1, "");
    if (llvm::isa<llvm::AllocaInst, llvm::ConstantPointerNull, llvm::UndefValue>(object)) return std::nullopt;
    if (auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(object)) {
      MemoryClass memory = memory_class(*variable);
      if (memory == MemoryClass::kShared || memory == MemoryClass::kSharedDynamic) return std::nullopt;
      return Origin(-1, variable->getName().str());
    }
    if (auto* argument = llvm::dyn_cast<llvm::Argument>(object)) {
      if (argument->getParent() != function_) return kOther;
      if (argument->hasByRefAttr() || argument->hasByValAttr()) return std::nullopt;  // the argument bytes themselves
      return at(*argument, 0).value_or(kOther);
    }
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(object)) return from_structure(*load).value_or(kOther);
    return kOther;
  }

  // A pointer that is a member of a structure passed by value.
  std::optional<Origin> from_structure(const llvm::LoadInst& load) const {
    llvm::APInt offset(layout_.getIndexTypeSizeInBits(load.getPointerOperandType()), 0);
    const llvm::Value* base =
        load.getPointerOperand()->stripAndAccumulateConstantOffsets(layout_, offset, /*AllowNonInbounds=*/true);
    auto* argument = llvm::dyn_cast<llvm::Argument>(base);
    if (!argument || argument->getParent() != function_ || !(argument->hasByRefAttr() || argument->hasByValAttr())) {
      return std::nullopt;
    }
    return at(*argument, offset.getSExtValue());
  }

  std::optional<Origin> at(const llvm::Argument& argument, int64_t offset) const {
    if (argument.getArgNo() >= kernel_.arguments.size()) return std::nullopt;
    const bundle::Argument& recorded = kernel_.arguments[argument.getArgNo()];
    if (offset < 0 || offset + 8 > int64_t{recorded.size}) return std::nullopt;
    return Origin(int64_t{recorded.offset} + offset, "");
  }

  const bundle::KernelInfo& kernel_;
  const llvm::Function* function_;
  const llvm::DataLayout& layout_;
  std::map<Origin, std::string> types_;
};

}  // namespace

std::vector<bundle::StoreType> store_types(const llvm::Module& module, const bundle::KernelInfo& kernel) {
  return Stores(module, kernel).result();
}

}  // namespace mneme::codegen::host
