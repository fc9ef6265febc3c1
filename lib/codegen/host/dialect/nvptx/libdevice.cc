// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// libdevice's mathematical functions, by name: those for which the host has what HIP's kernels get, too
// (dialect/amdgpu/math.cc says when). The others do what libdevice does.
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/IR/IRBuilder.h>

#include "base/error.h"
#include "codegen/host/dialect/nvptx/raise.h"
#include "codegen/host/dialect/rebuild.h"
#include "codegen/host/math/algebra.h"
#include "codegen/host/math/library.h"
#include "codegen/host/math/parts.h"
#include "codegen/host/neutral/algebra_mark.h"

namespace mneme::codegen::host {
namespace {

using llvm::StringRef;
using llvm::Value;

// "__nv_fast_sinf" as "sin", for a float; as the elementary functions are called.
StringRef plain_name(StringRef name, const llvm::Type& type) {
  static const llvm::StringMap<StringRef> kOthers = {
      {"norm3d", "len3"}, {"norm4d", "len4"}, {"rnorm3d", "rlen3"}, {"rnorm4d", "rlen4"}, {"powi", "pown"}};
  name.consume_front("fast_");
  if (type.isFloatTy() && !name.consume_back("f")) return "";
  auto other = kOthers.find(name);
  return other == kOthers.end() ? name : other->second;
}

llvm::SmallVector<Value*, 4> arguments_of(llvm::Function& function) {
  llvm::SmallVector<Value*, 4> arguments;
  for (llvm::Argument& argument : function.args()) arguments.push_back(&argument);
  return arguments;
}

bool rewrite(llvm::Function& function, StringRef name) {
  llvm::Type* type = function.getReturnType();
  if (name == "sincos" || name == "sincosf" || name == "fast_sincosf") {
    llvm::IRBuilder<> builder = rebuild(function);
    Value* x = function.getArg(0);
    auto call = is_algebra(*function.getParent()) ? call_by_name : call_elementary;
    builder.CreateStore(call(builder, "sin", {x}), function.getArg(1));
    builder.CreateStore(call(builder, "cos", {x}), function.getArg(2));
    builder.CreateRetVoid();
    return true;
  }
  if (!type->isFloatTy() && !type->isDoubleTy()) return false;
  StringRef plain = plain_name(name, *type);
  if (is_algebra(*function.getParent())) {
    if (!stays_call(plain, function)) return false;
    llvm::IRBuilder<> builder = rebuild(function);
    builder.CreateRet(call_by_name(builder, plain, arguments_of(function)));
    return true;
  }
  bool tanh = plain == "tanh" && type->isFloatTy();
  if (plain.empty() || (!tanh && !has_elementary(plain, *type))) return false;
  llvm::IRBuilder<> builder = rebuild(function);
  auto arguments = arguments_of(function);
  Value* result = tanh ? builder.CreateCall(math_function(*function.getParent(), "tanh_f32", type, {type}), arguments)
                       : call_elementary(builder, plain, arguments);
  builder.CreateRet(result);
  return true;
}

// What only moves bits, and must not touch a NaN's.
bool only_moves(StringRef name) {
  static const llvm::StringSet<> kNames = {
      "fabs",          "fabsf",          "copysign",           "copysignf", "nan",   "nanf", "int_as_float",
      "uint_as_float", "hiloint2double", "longlong_as_double", "fmin",      "fminf", "fmax", "fmaxf"};
  return kNames.contains(name);
}

}  // namespace

void raise_libdevice(llvm::Module& module, const bundle::KernelInfo& kernel) {
  for (llvm::Function& function : llvm::make_early_inc_range(module)) {
    StringRef name = function.getName();
    if (!name.consume_front("__nv_") || function.use_empty()) continue;
    if (!rewrite(function, name) && function.isDeclaration()) {
      throw Error::of("kernel '{}' calls {}, which the host device does not have", kernel.demangled,
                      function.getName().str());
    }
    if (!only_moves(name)) settle_nan(function);
  }
}

}  // namespace mneme::codegen::host
