// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The device library's mathematical functions (OCML) and LLVM's mathematical intrinsics. A function becomes
//  - an intrinsic, if it is exact;
//  - one of math/, or of the C library, if the device library leaves the work to an instruction that only a GPU has,
//    takes more than twice as long here, or is beyond the documented bounds;
//  - what the device library does, for which math/intrinsics.cc has the instructions: the bits are then AMD's.
// Whatever it is, no optimisation knows it: folding or rewriting it (pow(x, 2) to x * x) would change bits between
// optimisation levels.
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <set>

#include "codegen/host/dialect/amdgpu/raise.h"
#include "codegen/host/math/algebra.h"
#include "codegen/host/math/library.h"
#include "codegen/host/math/parts.h"
#include "codegen/host/neutral/algebra_mark.h"

namespace mneme::codegen::host {
namespace {

llvm::Intrinsic::ID exact_intrinsic(llvm::StringRef name) {
  static const llvm::StringMap<llvm::Intrinsic::ID> kIntrinsics = {
      {"sqrt", llvm::Intrinsic::sqrt},   {"native_sqrt", llvm::Intrinsic::sqrt},
      {"fabs", llvm::Intrinsic::fabs},   {"floor", llvm::Intrinsic::floor},
      {"ceil", llvm::Intrinsic::ceil},   {"trunc", llvm::Intrinsic::trunc},
      {"rint", llvm::Intrinsic::rint},   {"nearbyint", llvm::Intrinsic::nearbyint},
      {"round", llvm::Intrinsic::round}, {"copysign", llvm::Intrinsic::copysign}};
  return kIntrinsics.lookup(name);
}

// The body of one function of the device library, written anew.
class Body {
 public:
  explicit Body(llvm::Function& function) : function_(function), builder_(function.getContext()) {
    function.deleteBody();
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.setComdat(nullptr);
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.removeFnAttr(llvm::Attribute::OptimizeNone);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
    builder_.SetInsertPoint(llvm::BasicBlock::Create(function.getContext(), "", &function));
  }

  llvm::IRBuilder<>& builder() { return builder_; }
  llvm::SmallVector<llvm::Value*, 3> arguments() {
    llvm::SmallVector<llvm::Value*, 3> values;
    for (llvm::Argument& argument : function_.args()) values.push_back(&argument);
    return values;
  }
  void give(llvm::Value* result) { builder_.CreateRet(result); }

 private:
  llvm::Function& function_;
  llvm::IRBuilder<> builder_;
};

// Functions of which the device library's own code is within the documented bounds, and no slower here than twice what
// would take its place.
bool keeps_code(llvm::StringRef name, const llvm::Type& type) {
  static const llvm::StringSet<> kDouble = {"sin", "cos", "tan", "sincos"};
  static const llvm::StringSet<> kSingle = {"sin", "cos", "sincos"};
  return type.isDoubleTy() ? kDouble.contains(name) : type.isFloatTy() && kSingle.contains(name);
}

// For `algebra`: a call by its name, in the accurate and in the fast version.
bool rewrite_for_algebra(llvm::Function& function, llvm::StringRef name) {
  name.consume_front("native_");
  if (name == "sincos") {
    Body body(function);
    llvm::Value* x = function.getArg(0);
    body.builder().CreateStore(call_by_name(body.builder(), "cos", {x}), function.getArg(1));
    body.give(call_by_name(body.builder(), "sin", {x}));
    return true;
  }
  if (!stays_call(name, function)) return false;
  Body body(function);
  body.give(call_by_name(body.builder(), name, body.arguments()));
  return true;
}

// Says whether it was a function whose body is written here.
bool rewrite(llvm::Function& function, llvm::StringRef name) {
  if (llvm::Intrinsic::ID intrinsic = exact_intrinsic(name)) {
    Body body(function);
    body.give(body.builder().CreateIntrinsic(intrinsic, {function.getReturnType()}, body.arguments()));
    return true;
  }
  if (is_algebra(*function.getParent())) return rewrite_for_algebra(function, name);
  if (keeps_code(name, *function.getReturnType())) return false;
  if (name == "sincos") {
    if (!has_elementary("sin", *function.getReturnType())) return false;
    Body body(function);
    llvm::Value* x = function.getArg(0);
    body.builder().CreateStore(call_elementary(body.builder(), "cos", {x}), function.getArg(1));
    body.give(call_elementary(body.builder(), "sin", {x}));
    return true;
  }
  llvm::StringRef plain = name;
  plain.consume_front("native_");
  if (!has_elementary(plain, *function.getReturnType())) return false;
  Body body(function);
  body.give(call_elementary(body.builder(), plain, body.arguments()));
  return true;
}

// Instructions of the GPU that come near a result, and are exact, or nearly so, here.
bool is_approximate(llvm::StringRef intrinsic) {
  for (llvm::StringRef stem : {"amdgcn.rcp", "amdgcn.rsq", "amdgcn.exp2", "amdgcn.log", "amdgcn.sin", "amdgcn.cos",
                               "exp.f", "exp2.f", "log.f", "log2.f", "log10.f", "sin.f", "cos.f", "pow.f"}) {
    if (intrinsic.starts_with(stem)) return true;
  }
  return false;
}

// On the GPU a multiply-add of the device library is one instruction: the library's authors counted on its accuracy.
void fuse_device_library(llvm::Function& function) {
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    if (!call || call->getIntrinsicID() != llvm::Intrinsic::fmuladd) continue;
    call->setCalledFunction(
        llvm::Intrinsic::getDeclaration(function.getParent(), llvm::Intrinsic::fma, {call->getType()}));
  }
}

// Those that only move bits must not touch a NaN's.
bool computes(llvm::StringRef name) {
  return !exact_intrinsic(name) && name != "nan" && name != "fmax" && name != "fmin" && name != "ldexp";
}

}  // namespace

std::vector<std::string> replaced_functions(const llvm::Module& module) {
  std::set<std::string> names;
  for (const llvm::Function& function : module) {
    llvm::StringRef name = function.getName();
    if (name.consume_front("llvm.")) {
      bool outside = llvm::any_of(function.users(), [](const llvm::User* user) {
        auto* call = llvm::dyn_cast<llvm::Instruction>(user);
        return call && !call->getFunction()->getName().starts_with("__oc");
      });
      if (outside && is_approximate(name)) names.insert("llvm." + name.str());
      continue;
    }
    if (!name.consume_front("__ocml_") || function.use_empty()) continue;
    auto [stem, suffix] = name.rsplit('_');
    const llvm::Type& type = *function.getReturnType();
    llvm::StringRef plain = stem == "sincos" ? "sin" : stem;
    plain.consume_front("native_");
    if (exact_intrinsic(stem) || keeps_code(stem, type) || !has_elementary(plain, type)) continue;
    names.insert(name.str());
  }
  return {names.begin(), names.end()};
}

void settle_nan(llvm::Function& function) {
  for (llvm::BasicBlock& block : function) {
    auto* end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator());
    if (!end || !end->getReturnValue() || !end->getReturnValue()->getType()->isFPOrFPVectorTy()) continue;
    llvm::IRBuilder<> builder(end);
    llvm::Value* result = end->getReturnValue();
    llvm::Value* one_nan = llvm::ConstantFP::getNaN(result->getType());
    end->setOperand(0, builder.CreateSelect(builder.CreateFCmpUNO(result, result), one_nan, result));
  }
}

void raise_math_functions(llvm::Module& module) {
  for (llvm::Function& function : llvm::make_early_inc_range(module)) {
    llvm::StringRef name = function.getName();
    if (!name.consume_front("__ocml")) continue;
    fuse_device_library(function);
    auto [stem, suffix] = name.rsplit('_');
    if (suffix != "f16" && suffix != "f32" && suffix != "f64") continue;
    if (!stem.consume_front("_")) continue;  // a part of other functions
    rewrite(function, stem);
    if (computes(stem)) settle_nan(function);
  }
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) raise_math_intrinsic(*call);
    }
  }
  link_math_library(module);
}

}  // namespace mneme::codegen::host
