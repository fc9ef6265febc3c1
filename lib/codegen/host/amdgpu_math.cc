// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The device library's mathematical functions (OCML), by name: exact ones become LLVM intrinsics, the
// others calls of the C library's. The calls are marked so that no optimisation knows them: folding or
// rewriting them (pow(x, 2) to x * x) would change bits between optimisation levels.
#include <llvm/ADT/StringMap.h>
#include <llvm/IR/IRBuilder.h>

#include "codegen/host/raise_amdgpu.h"

namespace mneme::codegen::host {
namespace {

// OCML's name to the C library's, of the same arguments.
llvm::StringRef libm_name(llvm::StringRef name) {
  static const llvm::StringMap<llvm::StringRef> kNames = [] {
    llvm::StringMap<llvm::StringRef> names;
    for (llvm::StringRef same :
         {"acos",      "acosh", "asin",   "asinh", "atan",  "atan2",  "atanh", "cbrt", "cos",       "cosh",
          "erf",       "erfc",  "exp",    "exp2",  "exp10", "expm1",  "fdim",  "fmod", "hypot",     "ilogb",
          "j0",        "j1",    "lgamma", "log",   "log10", "log1p",  "log2",  "logb", "nextafter", "pow",
          "remainder", "sin",   "sinh",   "tan",   "tanh",  "tgamma", "y0",    "y1"}) {
      names[same] = same;
    }
    names["powr"] = "pow";
    for (llvm::StringRef fast : {"sin", "cos", "exp", "exp2", "exp10", "log", "log2", "log10"}) {
      names[("native_" + fast).str()] = fast;
    }
    return names;
  }();
  return kNames.lookup(name);
}

llvm::Intrinsic::ID exact_intrinsic(llvm::StringRef name) {
  static const llvm::StringMap<llvm::Intrinsic::ID> kIntrinsics = {
      {"sqrt", llvm::Intrinsic::sqrt},   {"native_sqrt", llvm::Intrinsic::sqrt},    {"fabs", llvm::Intrinsic::fabs},
      {"floor", llvm::Intrinsic::floor}, {"ceil", llvm::Intrinsic::ceil},           {"trunc", llvm::Intrinsic::trunc},
      {"rint", llvm::Intrinsic::rint},   {"nearbyint", llvm::Intrinsic::nearbyint}, {"round", llvm::Intrinsic::round},
      {"fma", llvm::Intrinsic::fma},     {"copysign", llvm::Intrinsic::copysign},   {"fmin", llvm::Intrinsic::minnum},
      {"fmax", llvm::Intrinsic::maxnum}};
  return kIntrinsics.lookup(name);
}

class MathBody {
 public:
  explicit MathBody(llvm::Function& function)
      : function_(function), builder_(llvm::BasicBlock::Create(function.getContext(), "", &function)) {
    type_ = function.getArg(0)->getType();
  }

  llvm::IRBuilder<>& builder() { return builder_; }
  llvm::Value* argument(unsigned i) { return function_.getArg(i); }
  llvm::Type* type() { return type_; }

  // Half precision is computed in single, as the device library does.
  llvm::Value* widen(llvm::Value* value) {
    return value->getType()->isHalfTy() ? builder_.CreateFPExt(value, builder_.getFloatTy()) : value;
  }
  llvm::Value* narrow(llvm::Value* value) {
    llvm::Type* wanted = function_.getReturnType();
    return value->getType() == wanted || !wanted->isHalfTy() ? value : builder_.CreateFPTrunc(value, wanted);
  }

  llvm::Value* call_libm(llvm::StringRef name, llvm::ArrayRef<llvm::Value*> arguments, llvm::Type* result) {
    std::string symbol = name.str() + (arguments[0]->getType()->isFloatTy() ? "f" : "");
    llvm::SmallVector<llvm::Type*, 3> types;
    for (llvm::Value* value : arguments) types.push_back(value->getType());
    llvm::FunctionCallee callee =
        function_.getParent()->getOrInsertFunction(symbol, llvm::FunctionType::get(result, types, false));
    auto* target = llvm::cast<llvm::Function>(callee.getCallee());
    target->setDoesNotThrow();
    target->setWillReturn();
    target->setDoesNotAccessMemory();  // nobody reads errno here
    llvm::CallInst* call = builder_.CreateCall(callee, arguments);
    call->addFnAttr(llvm::Attribute::NoBuiltin);
    return call;
  }

 private:
  llvm::Function& function_;
  llvm::IRBuilder<> builder_;
  llvm::Type* type_;
};

// Empties the function and says whether it was one whose body this file writes.
bool rewrite(llvm::Function& function, llvm::StringRef name) {
  llvm::StringRef libm = libm_name(name);
  llvm::Intrinsic::ID intrinsic = exact_intrinsic(name);
  bool reciprocal_root = name == "rsqrt" || name == "native_rsqrt";
  bool reciprocal = name == "native_recip";
  bool sincos = name == "sincos";
  bool pown = name == "pown";
  if (libm.empty() && !intrinsic && !reciprocal_root && !reciprocal && !sincos && !pown) return false;

  function.deleteBody();
  function.setLinkage(llvm::GlobalValue::InternalLinkage);
  function.setComdat(nullptr);
  function.removeFnAttr(llvm::Attribute::NoInline);
  function.removeFnAttr(llvm::Attribute::OptimizeNone);
  function.addFnAttr(llvm::Attribute::AlwaysInline);
  MathBody body(function);
  llvm::IRBuilder<>& builder = body.builder();
  llvm::SmallVector<llvm::Value*, 3> arguments;
  for (llvm::Argument& argument : function.args()) arguments.push_back(body.widen(&argument));
  llvm::Type* type = arguments[0]->getType();

  llvm::Value* result = nullptr;
  if (intrinsic) {
    result = builder.CreateIntrinsic(intrinsic, {type}, arguments);
  } else if (!libm.empty()) {
    llvm::Type* wanted = function.getReturnType();
    result = body.call_libm(libm, arguments, wanted->isHalfTy() ? type : wanted);
  } else if (reciprocal_root || reciprocal) {
    llvm::Value* base = reciprocal ? arguments[0] : builder.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, arguments[0]);
    result = builder.CreateFDiv(llvm::ConstantFP::get(type, 1.0), base);
  } else if (sincos) {
    llvm::Value* cosine = body.call_libm("cos", {arguments[0]}, type);
    builder.CreateStore(body.type()->isHalfTy() ? builder.CreateFPTrunc(cosine, body.type()) : cosine,
                        function.getArg(1));
    result = body.call_libm("sin", {arguments[0]}, type);
  } else {  // pown: an integer exponent needs double precision to be exact
    llvm::Type* wide = builder.getDoubleTy();
    llvm::Value* exponent = builder.CreateSIToFP(function.getArg(1), wide);
    llvm::Value* base = builder.CreateFPCast(arguments[0], wide);
    result = builder.CreateFPCast(body.call_libm("pow", {base, exponent}, wide), type);
  }
  builder.CreateRet(body.narrow(result));
  return true;
}

}  // namespace

void raise_math_functions(llvm::Module& module) {
  for (llvm::Function& function : module) {
    llvm::StringRef name = function.getName();
    if (!name.consume_front("__ocml_")) continue;
    auto [stem, suffix] = name.rsplit('_');
    if (suffix != "f16" && suffix != "f32" && suffix != "f64") continue;
    rewrite(function, stem);
  }
}

}  // namespace mneme::codegen::host
