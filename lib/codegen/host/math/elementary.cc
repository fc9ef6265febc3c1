// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elementary functions: single precision is ours (math/single.c), half goes by way of it, double is the C library's.
#include <llvm/ADT/StringSet.h>

#include "codegen/host/math/library.h"
#include "codegen/host/math/parts.h"

namespace mneme::codegen::host {
namespace {

bool is_ours(llvm::StringRef name) {
  static const llvm::StringSet<> kNames = {"exp",   "exp2",  "exp10",  "expm1", "log",  "log2",      "log10",
                                           "sin",   "cos",   "tan",    "pow",   "pown", "sin_turns", "cos_turns",
                                           "atan2", "hypot", "rhypot", "len3",  "len4", "rlen3",     "rlen4"};
  return kNames.contains(name);
}

bool is_libm(llvm::StringRef name) {
  static const llvm::StringSet<> kNames = {"sin", "cos", "tan", "expm1", "log1p", "tgamma"};
  return kNames.contains(name);
}

// The device library's is 33 units off in single precision.
bool is_libm_for_all(llvm::StringRef name) { return name == "tgamma"; }

// Marked so that no optimisation knows what it computes.
llvm::Value* call_libm(llvm::IRBuilderBase& builder, llvm::StringRef name, llvm::ArrayRef<llvm::Value*> arguments) {
  llvm::Type* type = arguments[0]->getType();
  llvm::SmallVector<llvm::Type*, 3> types(arguments.size(), type);
  llvm::FunctionCallee callee =
      builder.GetInsertBlock()->getModule()->getOrInsertFunction(name, llvm::FunctionType::get(type, types, false));
  auto* target = llvm::cast<llvm::Function>(callee.getCallee());
  target->setDoesNotThrow();
  target->setWillReturn();
  target->setDoesNotAccessMemory();  // nobody reads errno here
  llvm::CallInst* call = builder.CreateCall(callee, arguments);
  call->addFnAttr(llvm::Attribute::NoBuiltin);
  return call;
}

}  // namespace

bool has_elementary(llvm::StringRef name, const llvm::Type& type) {
  if (type.isHalfTy() || type.isFloatTy()) return is_ours(name) || is_libm_for_all(name);
  return type.isDoubleTy() && is_libm(name);
}

llvm::Value* call_elementary(llvm::IRBuilderBase& builder, llvm::StringRef name,
                             llvm::ArrayRef<llvm::Value*> arguments) {
  llvm::Type* type = arguments[0]->getType();
  if (type->isDoubleTy()) return call_libm(builder, name, arguments);
  if (is_libm_for_all(name)) {
    llvm::Value* wide = builder.CreateFPExt(arguments[0], builder.getDoubleTy());
    return builder.CreateFPTrunc(call_libm(builder, name, {wide}), type);
  }
  llvm::SmallVector<llvm::Value*, 3> values;
  llvm::SmallVector<llvm::Type*, 3> types;
  for (llvm::Value* value : arguments) {
    values.push_back(value->getType()->isHalfTy() ? builder.CreateFPExt(value, builder.getFloatTy()) : value);
    types.push_back(values.back()->getType());
  }
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  llvm::Value* result =
      builder.CreateCall(math_function(module, (name + "_f32").str(), builder.getFloatTy(), types), values);
  return type->isHalfTy() ? builder.CreateFPTrunc(result, type) : result;
}

}  // namespace mneme::codegen::host
