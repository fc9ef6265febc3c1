// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/dialect/amdgpu/gcn/registers.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/Support/AMDGPUAddrSpace.h>

#include <utility>

#include "ir/as_type.h"
#include "codegen/host/dialect/kept_registers.h"

namespace mneme::codegen::host {

using ir::as_type;

namespace {

using llvm::StringRef;
using llvm::Value;
using Builder = llvm::IRBuilderBase;

constexpr unsigned kWord = 32;

// "v3", "s[2:5]", "a0": their class, the first and how many.
struct RegisterRange {
  char file;
  unsigned first, count;
};
std::optional<RegisterRange> parse_range(StringRef text) {
  if (text.size() < 2 || !StringRef("vsa").contains(text[0])) return std::nullopt;
  RegisterRange range{text[0], 0, 1};
  text = text.drop_front();
  if (!text.consume_front("[")) {
    if (text.getAsInteger(10, range.first)) return std::nullopt;
    return range;
  }
  unsigned last = 0;
  auto [first, end] = text.split(':');
  if (!end.consume_back("]") || first.trim().getAsInteger(10, range.first) || end.trim().getAsInteger(10, last) ||
      last < range.first || last - range.first >= 32) {
    return std::nullopt;
  }
  range.count = last - range.first + 1;
  return range;
}
std::string word_name(const RegisterRange& range, unsigned i) { return range.file + std::to_string(range.first + i); }

// What stands around a register: "-|x|", "abs(x)", "neg(x)", "sext(x)".
struct Dressed {
  StringRef core;
  bool negative = false, absolute = false, is_signed = false;
};
Dressed undress(StringRef text) {
  Dressed dressed{text.trim()};
  StringRef& core = dressed.core;
  auto take = [&](StringRef open, StringRef close) {
    if (!core.starts_with(open) || !core.ends_with(close) || core.size() <= open.size() + close.size()) return false;
    core = core.drop_front(open.size()).drop_back(close.size()).trim();
    return true;
  };
  // "-1" is a number.
  dressed.negative = take("neg(", ")") || (core.size() > 1 && !llvm::isDigit(core[1]) && take("-", ""));
  dressed.absolute = take("abs(", ")") || take("|", "|");
  dressed.is_signed = take("sext(", ")");
  return dressed;
}

Value* with_half(Builder& builder, Value* mask, bool upper, Value* half) {
  llvm::Type* type = mask->getType();
  Value* kept = builder.CreateAnd(mask, upper ? uint64_t{UINT32_MAX} : uint64_t{UINT32_MAX} << kWord);
  return builder.CreateOr(kept, builder.CreateShl(builder.CreateZExt(half, type), upper ? kWord : 0));
}

}  // namespace

GcnType GcnType::parse(StringRef text) {
  if (text == "p") return {kCondition, 1, 1};
  if (text == "c") return {kCode, 1, 1};
  GcnType type;
  type.lanes = text.consume_back("x2") ? 2 : 1;
  type.kind = text.consume_front("bf") ? kBrain : text.consume_front("f") ? kFloat : kBits;
  if (type.kind == kBits) text = text.drop_front();
  text.getAsInteger(10, type.bits);
  return type;
}

llvm::Type* GcnType::of(llvm::LLVMContext& context) const {
  llvm::Type* type = llvm::Type::getIntNTy(context, bits);
  if (kind == kBrain) type = llvm::Type::getBFloatTy(context);
  if (kind == kFloat) {
    type = bits == 16   ? llvm::Type::getHalfTy(context)
           : bits == 32 ? llvm::Type::getFloatTy(context)
                        : llvm::Type::getDoubleTy(context);
  }
  return lanes == 1 ? type : llvm::FixedVectorType::get(type, lanes);
}

llvm::Type* GcnRegisters::result_type(size_t index) const {
  auto* all = llvm::dyn_cast<llvm::StructType>(call_.getType());
  return all ? all->getElementType(static_cast<unsigned>(index)) : call_.getType();
}

std::optional<std::string> GcnRegisters::bind() {
  auto* assembly = llvm::cast<llvm::InlineAsm>(call_.getCalledOperand());
  llvm::SmallVector<std::string, 8> texts;  // of each operand
  unsigned given = 0;
  for (const auto& constraint : assembly->ParseConstraints()) {
    if (constraint.Type == llvm::InlineAsm::isClobber) continue;
    if (constraint.Type == llvm::InlineAsm::isLabel || constraint.isIndirect || constraint.isMultipleAlternative) {
      return std::nullopt;
    }
    std::string name = "$" + std::to_string(texts.size());
    StringRef code = constraint.Codes.empty() ? "" : StringRef(constraint.Codes[0]);
    std::string bound;
    if (code.starts_with("{")) {
      bound = code.drop_front().drop_back().str();
      if (!parse_range(bound)) return std::nullopt;
      name = bound;
    }
    texts.push_back(name);
    if (constraint.Type == llvm::InlineAsm::isOutput) {
      llvm::Type* type = result_type(results_.size());
      results_.push_back(name);
      if (bound.empty()) operands_[name].type = type;
      continue;
    }
    Value* operand = call_.getArgOperand(given++);
    unsigned tied = 0;
    if (!code.getAsInteger(10, tied)) {
      if (tied >= results_.size()) return std::nullopt;
      texts.back() = results_[tied];
      if (results_[tied].starts_with("$")) {
        operands_[results_[tied]].value = operand;
      } else if (!write(results_[tied], operand)) {
        return std::nullopt;
      }
    } else if (!bound.empty()) {
      if (!write(bound, operand)) return std::nullopt;
    } else {
      operands_[name].value = operand;
      auto* constant = llvm::dyn_cast<llvm::ConstantInt>(operand);
      bool immediate = !code.empty() && StringRef("inIJABC").contains(code);
      if (constant && immediate) texts.back() = std::to_string(constant->getSExtValue());
    }
  }
  std::string text;
  StringRef rest = assembly->getAsmString();
  while (!rest.empty()) {
    auto [before, behind] = rest.split('$');
    text += before;
    if (before.size() == rest.size()) break;
    rest = behind;
    // Clang's way to write characters that could part assembly for several assemblers.
    static constexpr std::pair<StringRef, char> kPlain[] = {{"$", '$'}, {"|", '|'}, {"(", '{'}, {")", '}'}};
    const auto* plain = llvm::find_if(kPlain, [&](const auto& one) { return rest.starts_with(one.first); });
    if (plain != std::end(kPlain)) {
      text += plain->second;
      rest = rest.drop_front();
      continue;
    }
    if (rest.consume_front("{:uid}")) {  // a number of the text's own, for labels
      text += '0';
      continue;
    }
    bool braced = rest.consume_front("{");
    StringRef number = rest.take_while(llvm::isDigit);
    rest = rest.drop_front(number.size());
    if (braced) rest = rest.split('}').second;  // a modifier, which says how to print a constant
    size_t index = 0;
    if (number.getAsInteger(10, index) || index >= texts.size()) return std::nullopt;
    text += texts[index];
  }
  return text;
}

Value* GcnRegisters::as_mask(Value* condition, llvm::Type* type) {
  Value* mask = builder_.CreateIntrinsic(llvm::Intrinsic::amdgcn_ballot, {builder_.getInt64Ty()}, {condition});
  return builder_.CreateZExtOrTrunc(mask, type);
}

Value* GcnRegisters::condition_of(Value* value) {
  if (value->getType()->isIntegerTy(1)) return value;
  unsigned bits = value->getType()->getPrimitiveSizeInBits();
  if (bits != 32 && bits != 64) return nullptr;
  llvm::Type* type = builder_.getIntNTy(bits);
  return builder_.CreateIntrinsic(llvm::Intrinsic::amdgcn_inverse_ballot, {type}, {as_type(builder_, value, type)});
}

Value* GcnRegisters::get(const Register& from) {
  if (!from.variable || !from.value) return from.value;
  return builder_.CreateLoad(from.variable->getAllocatedType(), from.variable);
}

void GcnRegisters::set(Register& to, Value* value) {
  if (to.variable) builder_.CreateStore(as_type(builder_, value, to.variable->getAllocatedType()), to.variable);
  to.value = value;
}

void GcnRegisters::set_physical(const std::string& name, Value* value) {
  Register& to = physical_[name];
  if (blocks_ && !to.variable) to.variable = blocks_->add_variable(value->getType());
  set(to, value);
}

void GcnRegisters::keep_in(AssemblyBlocks& blocks) {
  blocks_ = &blocks;
  on_ = blocks.add_variable(builder_.getInt1Ty(), builder_.getTrue());
  auto keep = [&](Register& one, llvm::Type* type) {
    one.variable = blocks.add_variable(type, one.value ? as_type(builder_, one.value, type) : nullptr);
  };
  for (auto& [name, one] : operands_) {
    if (one.type) keep(one, one.type);
  }
  for (auto& [name, one] : physical_) keep(one, one.value->getType());
}

Value* GcnRegisters::is_on() {
  if (!on_) return builder_.getTrue();
  return builder_.CreateLoad(builder_.getInt1Ty(), on_);
}

void GcnRegisters::begin_vector() { decides_ = blocks_->only_if(is_on()); }

bool GcnRegisters::end_vector() {
  blocks_->join();
  llvm::BasicBlock* here = builder_.GetInsertBlock();
  auto conditions = std::exchange(conditions_, {});
  for (auto& [name, given] : conditions) {
    llvm::PHINode* all = llvm::PHINode::Create(builder_.getInt1Ty(), 2, "", here->begin());
    for (llvm::BasicBlock* from : llvm::predecessors(here)) {
      all->addIncoming(from == decides_ ? builder_.getFalse() : given, from);
    }
    given = all;
  }
  decides_ = nullptr;
  return llvm::all_of(conditions, [&](auto& one) { return write(one.first, one.second); });
}

// A mask; or one half of it.
bool GcnRegisters::write_exec(StringRef name, Value* value) {
  if (!on_ || decides_) return false;
  if (!value->getType()->isIntegerTy(1) && name != "exec") {
    value = with_half(builder_, as_mask(is_on(), builder_.getInt64Ty()), name == "exec_hi",
                      as_type(builder_, value, builder_.getInt32Ty()));
  }
  Value* condition = condition_of(value);
  if (condition) builder_.CreateStore(condition, on_);
  return condition;
}

// Kept as a mask, where it is a variable.
void GcnRegisters::write_vcc(StringRef name, Value* value) {
  if (!blocks_) {
    physical_["vcc"].value = value;
    return;
  }
  llvm::Type* type = builder_.getInt64Ty();
  if (value->getType()->isIntegerTy(1)) {
    value = as_mask(value, type);
  } else if (name != "vcc") {
    Value* old = read_register("vcc");
    value = with_half(builder_, old ? old : llvm::ConstantInt::get(type, 0), name == "vcc_hi",
                      as_type(builder_, value, builder_.getInt32Ty()));
  }
  set_physical("vcc", as_type(builder_, value, type));
}

Value* GcnRegisters::read_register(StringRef name) {
  auto operand = operands_.find(name.str());
  if (operand != operands_.end()) return get(operand->second);
  if (name == "exec") return as_mask(is_on(), builder_.getInt64Ty());
  if (name == "exec_lo") return as_mask(is_on(), builder_.getInt32Ty());
  if (name == "exec_hi" || (blocks_ && name == "vcc_hi")) {
    Value* mask = read_register(name.drop_back(3));
    return mask ? builder_.CreateTrunc(builder_.CreateLShr(mask, kWord), builder_.getInt32Ty()) : nullptr;
  }
  if (name == "vcc_lo") name = "vcc";  // of 32 lanes
  std::optional<RegisterRange> range = parse_range(name);
  if (!range) {
    auto found = physical_.find(name.str());
    if (found != physical_.end()) return get(found->second);
    return name == "m0" ? read_kept(builder_, Kept::kM0) : nullptr;
  }
  llvm::Type* type = builder_.getIntNTy(range->count * kWord);
  Value* whole = nullptr;
  for (unsigned i = 0; i < range->count; ++i) {
    auto found = physical_.find(word_name(*range, i));
    if (found == physical_.end()) return nullptr;
    Value* word = get(found->second);
    if (range->count == 1) return word;
    word = builder_.CreateShl(builder_.CreateZExt(word, type), i * kWord);
    whole = whole ? builder_.CreateOr(whole, word) : word;
  }
  return whole;
}

// Integers are bits, whatever the type, but for doubles, whose larger ones are the upper half; numbers with a point are
// of the operand's type, or its size.
Value* GcnRegisters::read_number(StringRef text, const GcnType& type) {
  llvm::Type* llvm_type = type.of(builder_.getContext());
  int64_t integer = 0;
  uint64_t natural = 0;
  bool negative = text.starts_with("-");
  if (!text.getAsInteger(0, integer) || (!negative && !text.getAsInteger(0, natural))) {
    uint64_t bits = integer ? static_cast<uint64_t>(integer) : natural;
    if (type.is_condition()) return builder_.getInt1(bits & 1);
    bool small = integer >= -16 && integer <= 64 && (integer || !natural);
    if (type.is_floating() && type.bits == 64 && !small) bits <<= 32;
    Value* value = llvm::ConstantInt::get(builder_.getContext(), llvm::APInt(64, bits));
    return as_type(builder_, value, llvm_type);
  }
  if (type.is_condition() || !text.contains('.')) return nullptr;
  const llvm::fltSemantics& semantics = type.kind == GcnType::kBrain ? llvm::APFloat::BFloat()
                                        : type.bits == 16            ? llvm::APFloat::IEEEhalf()
                                        : type.bits == 64            ? llvm::APFloat::IEEEdouble()
                                                                     : llvm::APFloat::IEEEsingle();
  llvm::APFloat number(semantics);
  auto status = number.convertFromString(text, llvm::APFloat::rmNearestTiesToEven);
  if (!status) {
    llvm::consumeError(status.takeError());
    return nullptr;
  }
  return as_type(builder_, llvm::ConstantInt::get(builder_.getContext(), number.bitcastToAPInt()), llvm_type);
}

Value* GcnRegisters::read(StringRef text, const GcnType& type, Change change) {
  Dressed operand = undress(text);
  bool dressed = operand.negative || operand.absolute;
  if (dressed && !type.is_floating()) return nullptr;
  Value* value = read_register(operand.core);
  llvm::Type* wanted = type.of(builder_.getContext());
  if (!value) {
    value = read_number(operand.core, type);
    if (!value || operand.is_signed) return nullptr;
  } else if (type.is_condition()) {
    return condition_of(value);
  } else if (value->getType()->isIntegerTy(1)) {
    value = as_mask(value, builder_.getIntNTy(type.size()));
  }
  if (change) value = change(as_type(builder_, value, builder_.getInt32Ty()));
  value = as_type(builder_, value, wanted);
  if (operand.absolute) value = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
  return operand.negative ? builder_.CreateFNeg(value) : value;
}

Value* GcnRegisters::read_old(StringRef operand, const GcnType& type) {
  Value* value = read_register(operand);
  if (!value) return llvm::Constant::getNullValue(type.of(builder_.getContext()));
  return type.is_condition() ? condition_of(value) : as_type(builder_, value, type.of(builder_.getContext()));
}

Value* GcnRegisters::read_shared_address(StringRef operand) {
  Value* value = read_register(operand);
  if (!value) value = read_number(operand, {});
  return value ? as_shared_address(value) : nullptr;
}

// An integer may be the lower half of a generic pointer (shared_pointers.cc).
Value* GcnRegisters::as_shared_address(Value* value) {
  llvm::Type* shared = builder_.getPtrTy(llvm::AMDGPUAS::LOCAL_ADDRESS);
  if (value->getType() == shared) return value;
  if (value->getType()->isPointerTy()) return builder_.CreateAddrSpaceCast(value, shared);
  return builder_.CreateIntToPtr(as_type(builder_, value, builder_.getInt32Ty()), shared);
}

Value* GcnRegisters::read_address(StringRef operand) {
  Value* value = read_register(operand);
  if (!value || value->getType()->isPointerTy()) return value;
  return as_type(builder_, value, builder_.getPtrTy(llvm::AMDGPUAS::GLOBAL_ADDRESS));
}

bool GcnRegisters::write(StringRef name, Value* value) {
  auto operand = operands_.find(name.str());
  bool is_condition = value->getType()->isIntegerTy(1);
  if (decides_ && is_condition) {
    conditions_.emplace_back(name.str(), value);
    return true;
  }
  if (operand != operands_.end()) {
    llvm::Type* type = operand->second.type;
    if (!type) return false;  // it is no result
    if (is_condition && !type->isIntegerTy(1))
      value = as_mask(value, builder_.getIntNTy(type->getPrimitiveSizeInBits()));
    set(operand->second, as_type(builder_, value, type));
    return true;
  }
  if (name == "null") return true;
  if (name.starts_with("exec")) return write_exec(name, value);
  if (name == "vcc" || name == "vcc_lo" || (blocks_ && name == "vcc_hi")) {
    write_vcc(name, value);
    return true;
  }
  if (name == "m0") write_kept(builder_, Kept::kM0, as_shared_address(value));
  if (name == "scc" || name == "m0") {
    set_physical(name.str(), value);
    return true;
  }
  std::optional<RegisterRange> range = parse_range(name);
  if (!range) return false;
  llvm::Type* type = builder_.getIntNTy(range->count * kWord);
  value = is_condition ? as_mask(value, type) : as_type(builder_, value, type);
  for (unsigned i = 0; i < range->count; ++i) {
    Value* word = builder_.CreateTrunc(builder_.CreateLShr(value, uint64_t{i} * kWord), builder_.getInt32Ty());
    set_physical(word_name(*range, i), word);
  }
  return true;
}

bool GcnRegisters::give_results() {
  if (call_.getType()->isVoidTy()) return true;
  Value* all = llvm::PoisonValue::get(call_.getType());
  for (size_t i = 0; i < results_.size(); ++i) {
    Value* value = read_register(results_[i]);
    if (!value) return false;
    value = as_type(builder_, value, result_type(i));
    all = call_.getType()->isStructTy() ? builder_.CreateInsertValue(all, value, static_cast<unsigned>(i)) : value;
  }
  call_.replaceAllUsesWith(all);
  return true;
}

}  // namespace mneme::codegen::host
