// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/math/algebra.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <functional>
#include <vector>

#include "base/error.h"
#include "codegen/host/math/library.h"
#include "codegen/host/math/ring.h"

namespace mneme::codegen::host {
namespace {

using llvm::Value;
using Elements = llvm::SmallVector<Value*, 8>;

constexpr char kRing[] = "mneme_ring_";

bool is_number(const llvm::Type& type) { return type.isFPOrFPVectorTy(); }
bool is_number(const Value* value) { return is_number(*value->getType()); }

unsigned lanes_of(const llvm::Type& type) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(&type);
  return vector ? vector->getNumElements() : 1;
}

bool is_short(const llvm::Type& type) { return type.getScalarSizeInBits() == 16; }

// A function that the module only declares, and that changes nothing but its result: of mathematics.
const llvm::Function* function_of_numbers(const llvm::Instruction& instruction) {
  auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  const llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
  if (!callee || callee->isIntrinsic() || !callee->isDeclaration() || callee->getName().starts_with(kRing)) {
    return nullptr;
  }
  return callee->doesNotAccessMemory() || is_algebra_function(*callee) ? callee : nullptr;
}

// Intrinsics that only move numbers, or say something of them.
bool moves(llvm::Intrinsic::ID id) {
  switch (id) {
    case llvm::Intrinsic::masked_load:
    case llvm::Intrinsic::masked_store:
    case llvm::Intrinsic::masked_gather:
    case llvm::Intrinsic::masked_scatter:
    case llvm::Intrinsic::masked_expandload:
    case llvm::Intrinsic::masked_compressstore:
    case llvm::Intrinsic::vector_insert:
    case llvm::Intrinsic::vector_extract:
    case llvm::Intrinsic::vector_reverse:
    case llvm::Intrinsic::vector_splice:
    case llvm::Intrinsic::vector_interleave2:
    case llvm::Intrinsic::vector_deinterleave2:
    case llvm::Intrinsic::ssa_copy:
    case llvm::Intrinsic::expect:
    case llvm::Intrinsic::is_constant:
    case llvm::Intrinsic::dbg_value:
    case llvm::Intrinsic::dbg_declare:
    case llvm::Intrinsic::dbg_assign:
      return true;
    default:
      return false;
  }
}

class Lowering {
 public:
  Lowering(llvm::Function& function, const std::string& kernel)
      : function_(function), kernel_(kernel), module_(*function.getParent()), builder_(function.getContext()) {}

  void run() {
    llvm::SmallVector<llvm::Instruction*, 64> found;
    llvm::SmallPtrSet<const llvm::BasicBlock*, 32> seen;
    auto gather = [&](llvm::BasicBlock& block) {
      if (!seen.insert(&block).second) return;
      for (llvm::Instruction& instruction : block) {
        if (computes_numbers(instruction)) found.push_back(&instruction);
      }
    };
    for (llvm::BasicBlock* block : llvm::ReversePostOrderTraversal(&function_)) gather(*block);
    for (llvm::BasicBlock& block : function_) gather(block);  // those that are not reached
    for (llvm::Instruction* instruction : found) {
      builder_.SetInsertPoint(instruction);
      builder_.SetCurrentDebugLocation(instruction->getDebugLoc());
      Value* result = lowered(*instruction);
      instruction->replaceAllUsesWith(result);
    }
    for (llvm::Instruction* instruction : found) instruction->eraseFromParent();
  }

 private:
  llvm::Type* element_type() { return builder_.getInt32Ty(); }
  Value* constant(int32_t value) { return builder_.getInt32(static_cast<uint32_t>(value)); }

  Value* call(llvm::StringRef name, llvm::Type* result, llvm::ArrayRef<Value*> arguments) {
    llvm::SmallVector<llvm::Type*, 4> types;
    for (Value* argument : arguments) types.push_back(argument->getType());
    llvm::FunctionCallee callee =
        module_.getOrInsertFunction((kRing + name).str(), llvm::FunctionType::get(result, types, false));
    return builder_.CreateCall(callee, arguments);
  }
  Value* element(llvm::StringRef name, llvm::ArrayRef<Value*> arguments) {
    return call(name, element_type(), arguments);
  }

  // ---- numbers as elements, and back

  Value* element_of_constant(llvm::Constant* constant_value) {
    auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant_value);
    if (!number) return constant(0);  // undefined
    llvm::APFloat value = number->getValueAPF();
    bool inexact;
    value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
    int32_t result = ring_of_number(value.convertToDouble());
    return constant(is_short(*number->getType()) ? ring_short(result) : result);
  }

  Value* element_of_scalar(Value* number) {
    llvm::Type* type = number->getType();
    if (type->isDoubleTy()) return element("of_f64", {number});
    if (type->isFloatTy()) return element("of_f32", {number});
    if (type->isHalfTy()) {
      return element("short", {element("of_f32", {builder_.CreateFPExt(number, builder_.getFloatTy())})});
    }
    if (type->isBFloatTy()) {
      Value* bits = builder_.CreateZExt(builder_.CreateBitCast(number, builder_.getInt16Ty()), element_type());
      Value* wide = builder_.CreateBitCast(builder_.CreateShl(bits, 16), builder_.getFloatTy());
      return element("short", {element("of_f32", {wide})});
    }
    refuse("numbers of " + std::to_string(type->getScalarSizeInBits()) + " bits");
  }

  Elements elements(Value* value) {
    auto known = known_.find(value);
    if (known != known_.end()) return known->second;
    const unsigned lanes = lanes_of(*value->getType());
    Elements result;
    if (auto* fixed = llvm::dyn_cast<llvm::Constant>(value); fixed && !llvm::isa<llvm::ConstantExpr>(fixed)) {
      for (unsigned i = 0; i < lanes; ++i) {
        result.push_back(element_of_constant(value->getType()->isVectorTy() ? fixed->getAggregateElement(i) : fixed));
      }
      return result;
    }
    llvm::IRBuilderBase::InsertPointGuard guard(builder_);
    if (auto* made = llvm::dyn_cast<llvm::Instruction>(value)) {
      builder_.SetInsertPoint(&**made->getInsertionPointAfterDef());
      builder_.SetCurrentDebugLocation(made->getDebugLoc());
    } else {
      builder_.SetInsertPoint(&*function_.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
    }
    for (unsigned i = 0; i < lanes; ++i) {
      const bool is_vector = value->getType()->isVectorTy();
      result.push_back(element_of_scalar(is_vector ? builder_.CreateExtractElement(value, i) : value));
    }
    known_[value] = result;
    return result;
  }

  Value* scalar_of(llvm::Type* type, Value* element_value) {
    if (type->isHalfTy()) return builder_.CreateSIToFP(element_value, type);
    if (type->isBFloatTy()) {
      Value* wide = builder_.CreateBitCast(call("brain_float", builder_.getFloatTy(), {element_value}), element_type());
      Value* upper = builder_.CreateTrunc(builder_.CreateLShr(wide, 16), builder_.getInt16Ty());
      return builder_.CreateBitCast(upper, type);
    }
    return builder_.CreateSIToFP(element_value, type);
  }

  // Values of the type's elements, be it a vector or not, as one.
  Value* joined(llvm::Type* type, llvm::ArrayRef<Value*> values) {
    if (!type->isVectorTy()) return values[0];
    Value* vector = llvm::PoisonValue::get(type);
    for (size_t i = 0; i < values.size(); ++i) vector = builder_.CreateInsertElement(vector, values[i], i);
    return vector;
  }

  Value* number(llvm::Type* type, Elements values) {
    Elements scalars;
    for (Value*& value : values) {
      if (is_short(*type)) value = element("short", {value});
      scalars.push_back(scalar_of(type->getScalarType(), value));
    }
    Value* result = joined(type, scalars);
    known_[result] = std::move(values);
    return result;
  }

  // ---- operations

  [[noreturn]] void refuse(const std::string& what) {
    throw Error::of("kernel '{}' uses {}, for which --algebra knows no element", kernel_, what);
  }

  // Each element of the result by those of the operands.
  Value* each(llvm::Type* type, llvm::ArrayRef<Value*> operands, const std::function<Value*(Elements&)>& make) {
    llvm::SmallVector<Elements, 3> all;
    for (Value* operand : operands) all.push_back(elements(operand));
    Elements results;
    for (unsigned i = 0; i < lanes_of(*type); ++i) {
      Elements one;
      for (Elements& these : all) one.push_back(these[i]);
      results.push_back(make(one));
    }
    return number(type, results);
  }
  Value* each(llvm::StringRef name, llvm::Type* type, llvm::ArrayRef<Value*> operands) {
    return each(type, operands, [&](Elements& one) { return element(name, one); });
  }

  Value* compare(llvm::FCmpInst& comparison) {
    const unsigned when = comparison.getPredicate() & 7;  // equal, greater, less; none is a NaN
    if (when == 0 || when == 7) return llvm::ConstantInt::get(comparison.getType(), when == 7);
    Elements left = elements(comparison.getOperand(0)), right = elements(comparison.getOperand(1)), results;
    for (size_t i = 0; i < left.size(); ++i) {
      if (when == 1) {
        results.push_back(builder_.CreateICmpEQ(left[i], right[i]));
      } else if (when == 6) {
        results.push_back(builder_.CreateICmpNE(left[i], right[i]));
      } else {
        constexpr llvm::CmpInst::Predicate kPredicates[] = {
            llvm::CmpInst::BAD_ICMP_PREDICATE, llvm::CmpInst::BAD_ICMP_PREDICATE, llvm::CmpInst::ICMP_SGT,
            llvm::CmpInst::ICMP_SGE,           llvm::CmpInst::ICMP_SLT,           llvm::CmpInst::ICMP_SLE};
        results.push_back(builder_.CreateICmp(kPredicates[when], element("compare", {left[i], right[i]}), constant(0)));
      }
    }
    return joined(comparison.getType(), results);
  }

  // No element is a NaN, an infinity or denormal.
  Value* class_of(llvm::IntrinsicInst& test) {
    const auto classes = llvm::cast<llvm::ConstantInt>(test.getArgOperand(1))->getZExtValue();
    Elements results;
    for (Value* value : elements(test.getArgOperand(0))) {
      Value* order = element("compare", {value, constant(0)});
      auto among = [&](unsigned one) { return builder_.getInt1(classes & one); };
      Value* other = builder_.CreateSelect(builder_.CreateICmpSLT(order, constant(0)), among(llvm::fcNegNormal),
                                           among(llvm::fcPosNormal));
      results.push_back(builder_.CreateSelect(builder_.CreateICmpEQ(order, constant(0)), among(llvm::fcZero), other));
    }
    return joined(test.getType(), results);
  }

  Value* integers(llvm::Type* type, Value* operand, bool is_signed) {
    Elements results;
    for (Value* value : elements(operand)) {
      if (!is_signed) {
        Value* positive = builder_.CreateAdd(value, constant(kRingModulus));
        value = builder_.CreateSelect(builder_.CreateICmpSLT(value, constant(0)), positive, value);
      }
      results.push_back(builder_.CreateIntCast(value, type->getScalarType(), is_signed));
    }
    return joined(type, results);
  }

  Value* of_integers(llvm::Type* type, Value* operand, bool is_signed) {
    if (operand->getType()->getScalarSizeInBits() > 64) refuse("conversions of wide integers");
    Elements results;
    for (unsigned i = 0; i < lanes_of(*type); ++i) {
      Value* one = type->isVectorTy() ? builder_.CreateExtractElement(operand, i) : operand;
      Value* wide = builder_.CreateIntCast(one, builder_.getInt64Ty(), is_signed);
      results.push_back(element(is_signed ? "of_integer" : "of_unsigned", {wide}));
    }
    return number(type, results);
  }

  Value* reduce(llvm::IntrinsicInst& call_of, llvm::StringRef name, bool has_start) {
    Elements values = elements(call_of.getArgOperand(has_start ? 1 : 0));
    Value* result = has_start ? elements(call_of.getArgOperand(0))[0] : values[0];
    for (size_t i = has_start ? 0 : 1; i < values.size(); ++i) result = element(name, {result, values[i]});
    return number(call_of.getType(), {result});
  }

  Value* name_of(llvm::StringRef name) { return builder_.getInt64(llvm::xxh3_64bits(name)); }

  // A scalar function that is known by its name only, or by laws too.
  Value* function(llvm::Type* type, llvm::StringRef name, llvm::ArrayRef<Value*> arguments) {
    Elements values;  // numbers as elements, integers as they are
    for (Value* argument : arguments) values.push_back(is_number(argument) ? elements(argument)[0] : argument);
    auto wide = [&](Value* integer) { return builder_.CreateSExtOrTrunc(integer, builder_.getInt64Ty()); };
    auto exponential = [&](float logarithm) {
      return element("exp2", {element("multiply", {values[0], constant(ring_of_single(logarithm))})});
    };
    llvm::StringRef plain = name;
    const bool rounded = plain.consume_back("_rounded");
    Value* result = nullptr;
    if (name == "exp2") result = element("exp2", {values[0]});
    if (name == "exp") result = exponential(1.44269504F);
    if (name == "exp10") result = exponential(3.32192809F);
    if (name == "pow" || name == "powr") result = element("pow", {name_of("pow"), values[0], values[1]});
    if (name == "pown" || name == "powi") result = element("power", {values[0], wide(values[1])});
    if (name == "ldexp") result = element("scale", {values[0], wide(values[1])});
    if (rounded) {
      if (plain == "add") result = element("add", {values[0], values[1]});
      if (plain == "mul") result = element("multiply", {values[0], values[1]});
      if (plain == "div") result = element("divide", {values[0], values[1]});
      if (plain == "sqrt") result = element("root", {values[0]});
      if (plain == "f64") result = values[0];
      if (plain == "s32" || plain == "s64") result = element("of_integer", {wide(values[0])});
      if (plain == "u32" || plain == "u64") {
        result = element("of_unsigned", {builder_.CreateZExtOrTrunc(values[0], builder_.getInt64Ty())});
      }
    }
    if (plain == "fma" || plain == "fma_f16") {
      result = element("add", {element("multiply", {values[0], values[1]}), values[2]});
    }
    if (!result) {
      Value* state = name_of(name);
      for (Value* value : values) {
        if (!value->getType()->isIntegerTy()) refuse(("the function " + name).str());
        state = call("opaque", builder_.getInt64Ty(), {state, wide(value)});
      }
      if (type->isIntegerTy()) return builder_.CreateIntCast(builder_.CreateAnd(state, 63), type, false);
      if (!is_number(*type)) refuse(("the function " + name).str());
      result = element("of_unsigned", {state});
    }
    return number(type, {result});
  }

  Value* function_of_elements(llvm::CallInst& call_of, llvm::StringRef name) {
    llvm::Type* type = call_of.getType();
    llvm::SmallVector<Value*, 4> arguments(call_of.args());
    if (!type->isVectorTy()) return function(type, name, arguments);
    Elements results;
    for (unsigned i = 0; i < lanes_of(*type); ++i) {
      llvm::SmallVector<Value*, 4> one;
      for (Value* argument : arguments) {
        one.push_back(argument->getType()->isVectorTy() ? builder_.CreateExtractElement(argument, i) : argument);
      }
      results.push_back(function(type->getScalarType(), name, one));
    }
    return joined(type, results);
  }

  Value* rounded(llvm::IntrinsicInst& call_of, llvm::StringRef name) {
    return each(call_of.getType(), {call_of.getArgOperand(0)},
                [&](Elements& one) { return element("rounded", {name_of(name), one[0]}); });
  }

  Value* lowered(llvm::IntrinsicInst& call_of) {
    llvm::Type* type = call_of.getType();
    auto argument = [&](unsigned i) { return call_of.getArgOperand(i); };
    switch (call_of.getIntrinsicID()) {
      case llvm::Intrinsic::fma:
      case llvm::Intrinsic::fmuladd:
        return each(type, {argument(0), argument(1), argument(2)},
                    [&](Elements& one) { return element("add", {element("multiply", {one[0], one[1]}), one[2]}); });
      case llvm::Intrinsic::fabs:
        return each("magnitude", type, {argument(0)});
      case llvm::Intrinsic::copysign:
        return each("sign_of", type, {argument(0), argument(1)});
      case llvm::Intrinsic::minnum:
      case llvm::Intrinsic::minimum:
        return each("least", type, {argument(0), argument(1)});
      case llvm::Intrinsic::maxnum:
      case llvm::Intrinsic::maximum:
        return each("greatest", type, {argument(0), argument(1)});
      case llvm::Intrinsic::sqrt:
        return each("root", type, {argument(0)});
      case llvm::Intrinsic::canonicalize:
      case llvm::Intrinsic::arithmetic_fence:
        return argument(0);
      case llvm::Intrinsic::floor:
        return rounded(call_of, "floor");
      case llvm::Intrinsic::ceil:
        return rounded(call_of, "ceil");
      case llvm::Intrinsic::trunc:
        return rounded(call_of, "trunc");
      case llvm::Intrinsic::round:
        return rounded(call_of, "round");
      case llvm::Intrinsic::rint:
      case llvm::Intrinsic::nearbyint:
      case llvm::Intrinsic::roundeven:
        return rounded(call_of, "rint");
      case llvm::Intrinsic::is_fpclass:
        return class_of(call_of);
      case llvm::Intrinsic::fptosi_sat:
        return integers(type, argument(0), true);
      case llvm::Intrinsic::fptoui_sat:
        return integers(type, argument(0), false);
      case llvm::Intrinsic::vector_reduce_fadd:
        return reduce(call_of, "add", true);
      case llvm::Intrinsic::vector_reduce_fmul:
        return reduce(call_of, "multiply", true);
      case llvm::Intrinsic::vector_reduce_fmin:
      case llvm::Intrinsic::vector_reduce_fminimum:
        return reduce(call_of, "least", false);
      case llvm::Intrinsic::vector_reduce_fmax:
      case llvm::Intrinsic::vector_reduce_fmaximum:
        return reduce(call_of, "greatest", false);
      case llvm::Intrinsic::sin:
      case llvm::Intrinsic::cos:
      case llvm::Intrinsic::tan:
      case llvm::Intrinsic::exp:
      case llvm::Intrinsic::exp2:
      case llvm::Intrinsic::exp10:
      case llvm::Intrinsic::log:
      case llvm::Intrinsic::log2:
      case llvm::Intrinsic::log10:
      case llvm::Intrinsic::pow:
      case llvm::Intrinsic::powi:
      case llvm::Intrinsic::ldexp: {
        llvm::StringRef name = llvm::Intrinsic::getBaseName(call_of.getIntrinsicID());
        name.consume_front("llvm.");
        return function_of_elements(call_of, name);
      }
      default:
        refuse(call_of.getCalledFunction()->getName().str());
    }
  }

  Value* lowered(llvm::Instruction& instruction) {
    llvm::Type* type = instruction.getType();
    auto operand = [&](unsigned i) { return instruction.getOperand(i); };
    switch (instruction.getOpcode()) {
      case llvm::Instruction::FAdd:
        return each("add", type, {operand(0), operand(1)});
      case llvm::Instruction::FSub:
        return each("subtract", type, {operand(0), operand(1)});
      case llvm::Instruction::FMul:
        return each("multiply", type, {operand(0), operand(1)});
      case llvm::Instruction::FDiv:
        return each("divide", type, {operand(0), operand(1)});
      case llvm::Instruction::FNeg:
        return each(type, {operand(0)}, [&](Elements& one) { return builder_.CreateNeg(one[0]); });
      case llvm::Instruction::FRem:
        return each(type, {operand(0), operand(1)}, [&](Elements& one) {
          Value* state = name_of("fmod");
          for (Value* value : one) {
            state = call("opaque", builder_.getInt64Ty(), {state, builder_.CreateSExt(value, builder_.getInt64Ty())});
          }
          return element("of_unsigned", {state});
        });
      case llvm::Instruction::FPTrunc:
        return number(type, elements(operand(0)));
      case llvm::Instruction::FCmp:
        return compare(llvm::cast<llvm::FCmpInst>(instruction));
      case llvm::Instruction::FPToSI:
        return integers(type, operand(0), true);
      case llvm::Instruction::FPToUI:
        return integers(type, operand(0), false);
      case llvm::Instruction::SIToFP:
        return of_integers(type, operand(0), true);
      case llvm::Instruction::UIToFP:
        return of_integers(type, operand(0), false);
      default:
        break;
    }
    if (auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) return lowered(*intrinsic);
    return function_of_elements(llvm::cast<llvm::CallInst>(instruction), plain_name(*function_of_numbers(instruction)));
  }

  llvm::Function& function_;
  const std::string& kernel_;
  llvm::Module& module_;
  llvm::IRBuilder<> builder_;
  llvm::DenseMap<Value*, Elements> known_;
};

}  // namespace

bool stays_call(llvm::StringRef name, const llvm::Function& function) {
  static const llvm::StringSet<> kNames = {
      "acos",    "acosh", "acospi", "asin",   "asinh", "asinpi",    "atan",   "atan2",   "atan2pi", "atanh",
      "atanpi",  "cbrt",  "cos",    "cosh",   "cospi", "erf",       "erfc",   "erfcinv", "erfcx",   "erfinv",
      "exp",     "exp10", "exp2",   "expm1",  "fmod",  "hypot",     "i0",     "i1",      "j0",      "j1",
      "ldexp",   "len3",  "len4",   "lgamma", "log",   "log10",     "log1p",  "log2",    "logb",    "ncdf",
      "ncdfinv", "pow",   "pown",   "powr",   "rcbrt", "remainder", "rhypot", "rlen3",   "rlen4",   "rootn",
      "sin",     "sinh",  "sinpi",  "tan",    "tanh",  "tanpi",     "tgamma", "y0",      "y1"};
  if (!kNames.contains(name) || !function.getReturnType()->isFloatingPointTy()) return false;
  return llvm::none_of(function.args(), [](const llvm::Argument& argument) {
    return argument.getType()->isPointerTy() || argument.getType()->isVectorTy();
  });
}

llvm::Value* call_by_name(llvm::IRBuilderBase& builder, llvm::StringRef name, llvm::ArrayRef<Value*> arguments) {
  llvm::Type* type = arguments[0]->getType();
  llvm::SmallVector<llvm::Type*, 3> types;
  for (Value* argument : arguments) types.push_back(argument->getType());
  const char* suffix = type->isDoubleTy() ? "_f64" : type->isHalfTy() ? "_f16" : "_f32";
  return builder.CreateCall(math_function(*builder.GetInsertBlock()->getModule(), (name + suffix).str(), type, types),
                            arguments);
}

bool computes_numbers(const llvm::Instruction& instruction) {
  switch (instruction.getOpcode()) {
    case llvm::Instruction::FAdd:
    case llvm::Instruction::FSub:
    case llvm::Instruction::FMul:
    case llvm::Instruction::FDiv:
    case llvm::Instruction::FRem:
    case llvm::Instruction::FNeg:
    case llvm::Instruction::FCmp:
    case llvm::Instruction::FPTrunc:
    case llvm::Instruction::FPToSI:
    case llvm::Instruction::FPToUI:
    case llvm::Instruction::SIToFP:
    case llvm::Instruction::UIToFP:
      // Those of results of lower_to_algebra() are no operations any more, but that is not seen in them.
      return true;
    default:
      break;
  }
  if (auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) {
    const bool has_number = is_number(&instruction) || llvm::any_of(intrinsic->args(), [](const llvm::Use& argument) {
                              return is_number(argument.get());
                            });
    return has_number && !moves(intrinsic->getIntrinsicID()) && !intrinsic->isAssumeLikeIntrinsic();
  }
  return function_of_numbers(instruction) != nullptr;
}

void lower_to_algebra(llvm::Module& module, const std::string& kernel) {
  std::vector<llvm::Function*> functions;
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) functions.push_back(&function);
  }
  for (llvm::Function* function : functions) Lowering(*function, kernel).run();
  link_ring(module);
}

}  // namespace mneme::codegen::host
