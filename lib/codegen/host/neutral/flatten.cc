// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/neutral/flatten.h"

#include <llvm/IR/AttributeMask.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Operator.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include "base/error.h"
#include "codegen/host/neutral/debug_information.h"

namespace mneme::codegen::host {
namespace {

class FlatTypes : public llvm::ValueMapTypeRemapper {
 public:
  llvm::Type* remapType(llvm::Type* type) override {
    llvm::Type*& flat = flat_[type];
    if (!flat) {
      // Recursion may move the map's buckets: the reference is not used across it.
      llvm::Type* made = make(type);
      return flat_[type] = made;
    }
    return flat;
  }

 private:
  llvm::Type* make(llvm::Type* type) {
    if (type->isPointerTy()) return llvm::PointerType::get(type->getContext(), 0);
    if (auto* array = llvm::dyn_cast<llvm::ArrayType>(type)) {
      return llvm::ArrayType::get(remapType(array->getElementType()), array->getNumElements());
    }
    if (auto* vector = llvm::dyn_cast<llvm::VectorType>(type)) {
      return llvm::VectorType::get(remapType(vector->getElementType()), vector->getElementCount());
    }
    if (auto* function = llvm::dyn_cast<llvm::FunctionType>(type)) {
      llvm::SmallVector<llvm::Type*, 8> parameters;
      for (llvm::Type* parameter : function->params()) parameters.push_back(remapType(parameter));
      return llvm::FunctionType::get(remapType(function->getReturnType()), parameters, function->isVarArg());
    }
    if (auto* structure = llvm::dyn_cast<llvm::StructType>(type)) return make_struct(structure);
    return type;
  }

  llvm::Type* make_struct(llvm::StructType* structure) {
    if (structure->isOpaque()) return structure;
    llvm::SmallVector<llvm::Type*, 8> members;
    bool same = true;
    for (llvm::Type* member : structure->elements()) {
      members.push_back(remapType(member));
      same &= members.back() == member;
    }
    if (same) return structure;
    if (structure->isLiteral()) return llvm::StructType::get(type_context(structure), members, structure->isPacked());
    return llvm::StructType::create(type_context(structure), members, structure->getName(), structure->isPacked());
  }

  static llvm::LLVMContext& type_context(llvm::Type* type) { return type->getContext(); }

  llvm::DenseMap<llvm::Type*, llvm::Type*> flat_;
};

// A cast between address spaces, within a constant, is its operand.
class DropCasts : public llvm::ValueMaterializer {
 public:
  DropCasts(llvm::ValueToValueMapTy& map, llvm::ValueMapTypeRemapper& types) : map_(map), types_(types) {}

  llvm::Value* materialize(llvm::Value* value) override {
    auto* expression = llvm::dyn_cast<llvm::ConstantExpr>(value);
    if (!expression || expression->getOpcode() != llvm::Instruction::AddrSpaceCast) return nullptr;
    return llvm::MapValue(expression->getOperand(0), map_, llvm::RF_None, &types_, this);
  }

 private:
  llvm::ValueToValueMapTy& map_;
  llvm::ValueMapTypeRemapper& types_;
};

// Attributes that only mean something to the vendor's back end, or nothing here.
void keep_portable_attributes(llvm::Function& function) {
  llvm::AttributeMask drop;
  for (llvm::Attribute attribute : function.getAttributes().getFnAttrs()) {
    if (attribute.isStringAttribute()) drop.addAttribute(attribute.getKindAsString());
  }
  for (auto kind : {llvm::Attribute::NoInline, llvm::Attribute::OptimizeNone, llvm::Attribute::StackProtect,
                    llvm::Attribute::StackProtectStrong}) {
    drop.addAttribute(kind);
  }
  function.removeFnAttrs(drop);
}

void erase_address_space_casts(llvm::Function& function) {
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    if (!llvm::isa<llvm::AddrSpaceCastInst>(instruction)) continue;
    instruction.replaceAllUsesWith(instruction.getOperand(0));
    instruction.eraseFromParent();
  }
}

// Pointers to shared and private memory have 32 bits there and 64 here: one made out of an integer
// has lost its upper half.
void refuse_narrow_pointers(const llvm::Module& module, const std::string& kernel) {
  for (const llvm::Function& function : module) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      if (auto* cast = llvm::dyn_cast<llvm::IntToPtrInst>(&instruction)) {
        if (module.getDataLayout().getPointerSizeInBits(cast->getAddressSpace()) < 64) {
          throw Error::of(
              "kernel '{}' makes a pointer to shared or private memory out of an integer, which the "
              "host device does not have",
              kernel);
        }
      }
    }
  }
}

}  // namespace

std::unique_ptr<llvm::Module> flatten_address_spaces(const llvm::Module& device, const llvm::DataLayout& layout,
                                                     const std::string& triple, const std::string& kernel) {
  refuse_narrow_pointers(device, kernel);
  auto host = std::make_unique<llvm::Module>("kernel", device.getContext());
  host->setDataLayout(layout);
  host->setTargetTriple(triple);
  prepare_debug_information(device, *host);

  FlatTypes types;
  llvm::ValueToValueMapTy map;
  DropCasts casts(map, types);
  for (const llvm::GlobalVariable& variable : device.globals()) {
    auto* copy = new llvm::GlobalVariable(*host, types.remapType(variable.getValueType()), variable.isConstant(),
                                          variable.getLinkage(), nullptr, variable.getName());
    copy->copyAttributesFrom(&variable);
    copy->setVisibility(llvm::GlobalValue::DefaultVisibility);
    copy->setSection("");
    copy->setAlignment(device.getDataLayout().getValueOrABITypeAlignment(variable.getAlign(), variable.getValueType()));
    map[&variable] = copy;
  }
  for (const llvm::Function& function : device) {
    auto* type = llvm::cast<llvm::FunctionType>(types.remapType(function.getFunctionType()));
    auto* copy = llvm::Function::Create(type, function.getLinkage(), function.getName(), *host);
    copy->copyAttributesFrom(&function);
    copy->setCallingConv(function.isIntrinsic() ? function.getCallingConv() : llvm::CallingConv::C);
    copy->setVisibility(llvm::GlobalValue::DefaultVisibility);
    // An intrinsic's name spells its pointers' address spaces.
    if (auto remangled = llvm::Intrinsic::remangleIntrinsicFunction(copy)) {
      copy->eraseFromParent();
      copy = *remangled;
    }
    map[&function] = copy;
  }
  for (const llvm::GlobalVariable& variable : device.globals()) {
    if (!variable.hasInitializer()) continue;
    llvm::cast<llvm::GlobalVariable>(map[&variable])
        ->setInitializer(llvm::MapValue(variable.getInitializer(), map, llvm::RF_None, &types, &casts));
  }
  for (const llvm::Function& function : device) {
    if (function.isDeclaration()) continue;
    auto* copy = llvm::cast<llvm::Function>(map[&function]);
    auto argument = copy->arg_begin();
    for (const llvm::Argument& original : function.args()) map[&original] = &*argument++;
    llvm::SmallVector<llvm::ReturnInst*, 4> returns;
    llvm::CloneFunctionInto(copy, &function, map, llvm::CloneFunctionChangeType::DifferentModule, returns, "", nullptr,
                            &types, &casts);
    copy->setCallingConv(llvm::CallingConv::C);
    erase_address_space_casts(*copy);
    keep_portable_attributes(*copy);
    for (llvm::Instruction& instruction : llvm::instructions(*copy)) {
      if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) call->setCallingConv(llvm::CallingConv::C);
    }
  }
  return host;
}

}  // namespace mneme::codegen::host
