// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/store_types.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include <map>
#include <set>

namespace mneme::ir {
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
  auto* structure = llvm::dyn_cast<llvm::StructType>(type);
  if (!structure || structure->getNumElements() == 0) return kMixed;
  std::string shared = type_name(structure->getElementType(0));
  for (const llvm::Type* element : structure->elements()) {
    if (type_name(element) != shared) return kMixed;
  }
  return shared;
}

// A scalar of C++, as clang names it for alias analysis.
std::string type_name(llvm::StringRef scalar, uint64_t size) {
  if (scalar == "float" && size == 4) return "f32";
  if (scalar == "double" && size == 8) return "f64";
  if (scalar == "_Float16" && size == 2) return "f16";
  return kMixed;
}

// What is copied, where clang says of which scalars it consists (!tbaa.struct).
std::string copied_type(const llvm::MemTransferInst& copy) {
  const llvm::MDNode* fields = copy.getMetadata(llvm::LLVMContext::MD_tbaa_struct);
  if (!fields || fields->getNumOperands() % 3 != 0) return kMixed;
  std::string shared;
  for (unsigned i = 0; i < fields->getNumOperands(); i += 3) {  // offset, size, tag
    auto* size = llvm::mdconst::dyn_extract_or_null<llvm::ConstantInt>(fields->getOperand(i + 1));
    auto* tag = llvm::dyn_cast_or_null<llvm::MDNode>(fields->getOperand(i + 2));
    auto* accessed =
        tag && tag->getNumOperands() >= 3 ? llvm::dyn_cast_or_null<llvm::MDNode>(tag->getOperand(1)) : nullptr;
    auto* name = accessed && accessed->getNumOperands() > 0
                     ? llvm::dyn_cast_or_null<llvm::MDString>(accessed->getOperand(0))
                     : nullptr;
    std::string type = size && name ? type_name(name->getString(), size->getZExtValue()) : kMixed;
    if (i > 0 && type != shared) return kMixed;
    shared = type;
  }
  return shared.empty() ? kMixed : shared;
}

bool is_zero(const llvm::Value* value) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  return constant && constant->isNullValue();
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
    if (puts_together(*user)) open.append(user->value_op_begin(), user->value_op_end());
  }
  return false;
}

std::string stored_type(const llvm::Value* value) {
  std::string name = type_name(value->getType());
  bool is_floating = name.starts_with('f') || name.starts_with("bf");
  return is_floating && holds_other_bits(value) ? kMixed : name;
}

// Whether all uses of a function are calls of it.
bool is_only_called(const llvm::Function& function) {
  return llvm::all_of(function.uses(), [&](const llvm::Use& use) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(use.getUser());
    return call && call->isCallee(&use) && call->getFunctionType() == function.getFunctionType();
  });
}

// What a pointer is based on, through arguments and results of functions that were not inlined.
llvm::SmallVector<const llvm::Value*> objects_behind(const llvm::Value& pointer, const llvm::Function& kernel) {
  llvm::SmallVector<const llvm::Value*> found, open{&pointer};
  llvm::SmallPtrSet<const llvm::Value*, 8> seen;
  while (!open.empty()) {
    llvm::SmallVector<const llvm::Value*, 4> objects;
    llvm::getUnderlyingObjects(open.pop_back_val(), objects, nullptr, 0);
    for (const llvm::Value* object : objects) {
      if (!seen.insert(object).second) continue;
      // As a pointer to another address space is stored and loaded.
      auto* made = llvm::dyn_cast<llvm::Operator>(object);
      auto* bits = made && made->getOpcode() == llvm::Instruction::IntToPtr
                       ? llvm::dyn_cast<llvm::PtrToIntOperator>(made->getOperand(0))
                       : nullptr;
      if (bits) {
        open.push_back(bits->getPointerOperand());
        continue;
      }
      auto* argument = llvm::dyn_cast<llvm::Argument>(object);
      auto* call = llvm::dyn_cast<llvm::CallBase>(object);
      const llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
      if (argument && argument->getParent() != &kernel && is_only_called(*argument->getParent())) {
        for (const llvm::User* user : argument->getParent()->users()) {
          open.push_back(llvm::cast<llvm::CallBase>(user)->getArgOperand(argument->getArgNo()));
        }
      } else if (callee && !callee->isDeclaration()) {
        for (const llvm::BasicBlock& block : *callee) {
          if (auto* end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator()))
            open.push_back(end->getReturnValue());
        }
      } else {
        found.push_back(object);
      }
    }
  }
  return found;
}

using SharedVariables = llvm::function_ref<bool(const llvm::GlobalVariable&)>;

class Stores {
 public:
  Stores(const llvm::Module& module, const bundle::KernelInfo& kernel, SharedVariables is_shared)
      : kernel_(kernel),
        function_(module.getFunction(kernel.name)),
        layout_(module.getDataLayout()),
        is_shared_(is_shared) {
    for (const llvm::Function& function : module) {
      for (const llvm::Instruction& instruction : llvm::instructions(function)) note(instruction);
    }
  }

  std::vector<bundle::StoreType> result() const {
    Types types = types_;
    types.insert(zeros_.begin(), zeros_.end());  // where there is nothing else
    types.insert(cleared_.begin(), cleared_.end());
    std::vector<bundle::StoreType> all;
    for (const auto& [origin, type] : types) {
      all.push_back({origin.first, origin.second, type, restricted_.contains(origin)});
    }
    return all;
  }

 private:
  using Origin = std::pair<int64_t, std::string>;  // as in bundle::StoreType
  using Types = std::map<Origin, std::string>;

  void note(const llvm::Instruction& instruction) {
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      const llvm::Value* value = store->getValueOperand();
      note(store->getPointerOperand(), stored_type(value), is_zero(value) ? zeros_ : types_);
    } else if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      note(update->getPointerOperand(), stored_type(update->getValOperand()));
    } else if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
      note(exchange->getPointerOperand(), type_name(exchange->getNewValOperand()->getType()));
    } else if (auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(&instruction)) {
      note(copy->getDest(), copied_type(*copy));
    } else if (auto* set = llvm::dyn_cast<llvm::MemSetInst>(&instruction)) {
      note(set->getDest(), kMixed, is_zero(set->getValue()) ? cleared_ : types_);
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

  void note(const llvm::Value* pointer, const std::string& type) { note(pointer, type, types_); }

  void note(const llvm::Value* pointer, const std::string& type, Types& types) {
    for (const llvm::Value* object : objects_behind(*pointer, *function_)) {
      std::optional<Origin> origin = origin_of(object);
      if (!origin) continue;
      auto [found, fresh] = types.emplace(*origin, type);
      if (!fresh && found->second != type) found->second = kMixed;
      auto* argument = llvm::dyn_cast<llvm::Argument>(object);
      if (argument && origin->first >= 0 && argument->hasNoAliasAttr()) restricted_.insert(*origin);
    }
  }

  // nullopt: memory that is no segment.
  std::optional<Origin> origin_of(const llvm::Value* object) const {
    const Origin kOther(-1, "");
    if (llvm::isa<llvm::AllocaInst, llvm::ConstantPointerNull, llvm::UndefValue>(object)) return std::nullopt;
    if (auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(object)) {
      if (is_shared_(*variable)) return std::nullopt;
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
  SharedVariables is_shared_;
  Types types_, zeros_, cleared_;  // zeros are those of every type; what is only cleared is stored to, too
  std::set<Origin> restricted_;
};

}  // namespace

std::vector<bundle::StoreType> store_types(const llvm::Module& module, const bundle::KernelInfo& kernel,
                                           SharedVariables is_shared) {
  return Stores(module, kernel, is_shared).result();
}

}  // namespace mneme::ir
