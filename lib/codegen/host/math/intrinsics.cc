// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Mathematical intrinsics of LLVM's and AMDGPU's, for which the host has no instruction: by functions of math/, the
// elements of a vector one by one.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include "codegen/host/math/library.h"
#include "codegen/host/math/parts.h"

namespace mneme::codegen::host {
namespace {

using Arguments = llvm::ArrayRef<llvm::Value*>;

llvm::StringRef elementary_name(llvm::Intrinsic::ID id) {
  switch (id) {
    case llvm::Intrinsic::sin:
      return "sin";
    case llvm::Intrinsic::cos:
      return "cos";
    case llvm::Intrinsic::tan:
      return "tan";
    case llvm::Intrinsic::exp:
      return "exp";
    case llvm::Intrinsic::exp2:
    case llvm::Intrinsic::amdgcn_exp2:
      return "exp2";
    case llvm::Intrinsic::exp10:
      return "exp10";
    case llvm::Intrinsic::log:
      return "log";
    case llvm::Intrinsic::log2:
    case llvm::Intrinsic::amdgcn_log:
      return "log2";
    case llvm::Intrinsic::log10:
      return "log10";
    case llvm::Intrinsic::pow:
      return "pow";
    case llvm::Intrinsic::powi:
      return "pown";
    case llvm::Intrinsic::amdgcn_sin:
      return "sin_turns";
    case llvm::Intrinsic::amdgcn_cos:
      return "cos_turns";
    default:
      return "";
  }
}

// A call of `mneme_<name>_<f32 or f64>` with the type of its first argument; half goes by way of float.
class Caller {
 public:
  Caller(llvm::IRBuilderBase& builder, llvm::Type* type)
      : builder_(builder), type_(type), wide_(type->isHalfTy() ? builder.getFloatTy() : type) {}

  llvm::Value* wide(llvm::Value* value) {
    return value->getType()->isHalfTy() ? builder_.CreateFPExt(value, wide_) : value;
  }
  llvm::Value* narrow(llvm::Value* value) { return type_->isHalfTy() ? builder_.CreateFPTrunc(value, type_) : value; }

  llvm::Value* call(llvm::StringRef name, llvm::Type* result, Arguments arguments) {
    llvm::SmallVector<llvm::Value*, 3> values;
    llvm::SmallVector<llvm::Type*, 3> types;
    for (llvm::Value* value : arguments) {
      values.push_back(wide(value));
      types.push_back(values.back()->getType());
    }
    std::string full = name.str() + (wide_->isDoubleTy() ? "_f64" : "_f32");
    llvm::Module& module = *builder_.GetInsertBlock()->getModule();
    return builder_.CreateCall(math_function(module, full, result, types), values);
  }
  llvm::Value* number(llvm::StringRef name, Arguments arguments) { return narrow(call(name, wide_, arguments)); }
  llvm::Value* integer(llvm::StringRef name, Arguments arguments) {
    return call(name, builder_.getInt32Ty(), arguments);
  }

 private:
  llvm::IRBuilderBase& builder_;
  llvm::Type* type_;
  llvm::Type* wide_;
};

// Which of AMDGPU's classes of number it is, as a bit, and whether that is among those asked for at run time.
llvm::Value* class_among(llvm::IRBuilderBase& builder, llvm::Value* x, llvm::Value* classes) {
  llvm::Value* result = builder.getFalse();
  for (unsigned bit = 0; bit < 10; ++bit) {
    llvm::Value* asked = builder.CreateICmpNE(builder.CreateAnd(classes, 1U << bit), builder.getInt32(0));
    result = builder.CreateOr(result, builder.CreateAnd(asked, builder.createIsFPClass(x, 1U << bit)));
  }
  return result;
}

// One element; null if it is not an intrinsic that needs help.
llvm::Value* raised(llvm::IRBuilderBase& builder, llvm::Intrinsic::ID id, llvm::Type* result, Arguments arguments) {
  if (arguments.empty()) return nullptr;
  llvm::Type* type = arguments[0]->getType();
  if (!type->isHalfTy() && !type->isFloatTy() && !type->isDoubleTy()) return nullptr;
  Caller caller(builder, type);
  switch (id) {
    case llvm::Intrinsic::ldexp: {
      llvm::Value* exponent = builder.CreateSExtOrTrunc(arguments[1], builder.getInt32Ty());
      return caller.number("ldexp", {arguments[0], exponent});
    }
    case llvm::Intrinsic::frexp: {
      llvm::Value* both = llvm::PoisonValue::get(result);
      both = builder.CreateInsertValue(both, caller.number("frexp_mant", arguments), 0);
      llvm::Type* exponent = llvm::cast<llvm::StructType>(result)->getElementType(1);
      return builder.CreateInsertValue(both,
                                       builder.CreateSExtOrTrunc(caller.integer("frexp_exp", arguments), exponent), 1);
    }
    case llvm::Intrinsic::amdgcn_frexp_mant:
      return caller.number("frexp_mant", arguments);
    case llvm::Intrinsic::amdgcn_frexp_exp:
      return builder.CreateSExtOrTrunc(caller.integer("frexp_exp", arguments), result);
    case llvm::Intrinsic::amdgcn_trig_preop:
      return caller.number("trig_preop", arguments);
    case llvm::Intrinsic::fma: {
      if (!type->isHalfTy()) return nullptr;
      return caller.number("fma_f16", arguments);
    }
    case llvm::Intrinsic::amdgcn_rsq: {
      if (!type->isHalfTy()) return nullptr;
      llvm::Value* root = builder.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, caller.wide(arguments[0]));
      return caller.narrow(builder.CreateFDiv(llvm::ConstantFP::get(root->getType(), 1.0), root));
    }
    case llvm::Intrinsic::amdgcn_class:
      return llvm::isa<llvm::Constant>(arguments[1]) ? nullptr : class_among(builder, arguments[0], arguments[1]);
    default:
      llvm::StringRef name = elementary_name(id);
      return has_elementary(name, *type) ? call_elementary(builder, name, arguments) : nullptr;
  }
}

}  // namespace

void raise_math_intrinsic(llvm::IntrinsicInst& call) {
  llvm::IRBuilder<> builder(&call);
  llvm::SmallVector<llvm::Value*, 3> arguments(call.args());
  llvm::Value* value = nullptr;
  if (auto* type = llvm::dyn_cast<llvm::FixedVectorType>(call.getType())) {
    value = llvm::PoisonValue::get(type);
    for (unsigned i = 0; i < type->getNumElements(); ++i) {
      llvm::SmallVector<llvm::Value*, 3> elements;
      for (llvm::Value* argument : arguments) {
        bool vector = argument->getType()->isVectorTy();
        elements.push_back(vector ? builder.CreateExtractElement(argument, i) : argument);
      }
      llvm::Value* element = raised(builder, call.getIntrinsicID(), type->getElementType(), elements);
      if (!element) return;  // nothing but extractions, which nobody uses, has been made
      value = builder.CreateInsertElement(value, element, i);
    }
  } else {
    value = raised(builder, call.getIntrinsicID(), call.getType(), arguments);
    if (!value) return;
  }
  call.replaceAllUsesWith(value);
  call.eraseFromParent();
}

}  // namespace mneme::codegen::host
