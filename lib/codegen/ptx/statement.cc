// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operands, and instructions: ordinary ones as LLVM's operations, others as inline assembly of one instruction, which
// the host device's compiler raises and NVIDIA's back end passes on.
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/ConstantRange.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "codegen/ptx/constants.h"
#include "codegen/ptx/function.h"

namespace mneme::codegen::ptx {

using llvm::StringRef;
using llvm::Value;

namespace {

// ptxas may fuse it with another. Whether it does depends on how often its result is used, so that it must stay as
// often as the text has it.
bool is_fusible(const PtxStatement& statement) {
  PtxName name(statement.name);
  std::optional<PtxType> type = name.take_type();
  bool one_of = llvm::is_contained({"add", "sub", "mul"}, statement.operation());
  return one_of && type && type->is_floating() && name.take_one_of({"rn", "rz", "rm", "rp"}).empty();
}

// Of a register in inline assembly; zero: there is none for its type.
char constraint_of(llvm::Type* type) {
  if (type->isFloatTy()) return 'f';
  if (type->isDoubleTy()) return 'd';
  if (!type->isIntegerTy()) return 0;
  switch (type->getIntegerBitWidth()) {
    case 1:
      return 'b';
    case 16:
      return 'h';
    case 32:
      return 'r';
    case 64:
      return 'l';
    case 128:
      return 'q';
    default:
      return 0;
  }
}

llvm::Type* type_in_assembly(llvm::Type* type) {
  return type->isHalfTy() || type->isVectorTy()
             ? llvm::Type::getIntNTy(type->getContext(), static_cast<unsigned>(type->getPrimitiveSizeInBits()))
             : type;
}

bool begins_name(char c) { return llvm::isAlpha(c) || c == '_' || c == '$' || c == '%'; }
bool is_in_name(char c) { return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.'; }

// As LLVM has it, with the numbers that it may have, as clang says them.
struct KnownRegister {
  llvm::Intrinsic::ID intrinsic;
  uint32_t first, end;
};

const KnownRegister* known_register(StringRef name) {
  constexpr uint32_t kMost = 1024, kMostInZ = 64, kMostBlocks = INT32_MAX, kMostBlocksInYZ = UINT16_MAX;
  static const llvm::StringMap<KnownRegister> kRegisters = {
      {"%tid.x", {llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, 0, kMost}},
      {"%tid.y", {llvm::Intrinsic::nvvm_read_ptx_sreg_tid_y, 0, kMost}},
      {"%tid.z", {llvm::Intrinsic::nvvm_read_ptx_sreg_tid_z, 0, kMostInZ}},
      {"%ntid.x", {llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x, 1, kMost + 1}},
      {"%ntid.y", {llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_y, 1, kMost + 1}},
      {"%ntid.z", {llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_z, 1, kMostInZ + 1}},
      {"%ctaid.x", {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, 0, kMostBlocks}},
      {"%ctaid.y", {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y, 0, kMostBlocksInYZ}},
      {"%ctaid.z", {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z, 0, kMostBlocksInYZ}},
      {"%nctaid.x", {llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x, 1, kMostBlocks + 1}},
      {"%nctaid.y", {llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_y, 1, kMostBlocksInYZ + 1}},
      {"%nctaid.z", {llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_z, 1, kMostBlocksInYZ + 1}},
      {"%laneid", {llvm::Intrinsic::nvvm_read_ptx_sreg_laneid, 0, 32}},
      {"%warpid", {llvm::Intrinsic::nvvm_read_ptx_sreg_warpid, 0, 32}}};
  auto found = kRegisters.find(name);
  return found == kRegisters.end() ? nullptr : &found->second;
}

// LLVM's are undefined where PTX's are not: of an unknown divisor, which may be zero.
bool divides_by_unknown(const PtxStatement& statement, llvm::ArrayRef<Value*> operands) {
  StringRef operation = statement.operation();
  if ((operation != "div" && operation != "rem") || operands.size() != 2) return false;
  auto* divisor = llvm::dyn_cast<llvm::ConstantInt>(operands[1]);
  return !divisor || divisor->isZero() || divisor->isMinusOne();
}

}  // namespace

Register* FunctionLifter::find_register(StringRef name) {
  for (Scope* scope = scope_; scope; scope = scope->outer) {
    auto found = scope->registers.find(name);
    if (found == scope->registers.end()) {
      StringRef stem = name.rtrim("0123456789");
      unsigned number = 0;
      bool numbered = stem.size() < name.size() && !name.drop_front(stem.size()).getAsInteger(10, number);
      for (const Scope::Family& family : scope->families) {
        if (!numbered || number >= family.count || stem != family.stem) continue;
        found = scope->registers.try_emplace(name, Register{family.type, nullptr}).first;
      }
    }
    if (found == scope->registers.end()) continue;
    Register& made = found->second;
    if (!made.slot) made.slot = new_variable(made.type.of(context_), 0, true);
    return &made;
  }
  return nullptr;
}

Value* FunctionLifter::special_register(StringRef name) {
  if (name == "WARP_SZ") return builder_.getInt32(32);
  if (const KnownRegister* known = known_register(name)) {
    llvm::CallInst* value = builder_.CreateIntrinsic(known->intrinsic, {}, {});
    value->addRangeRetAttr({llvm::APInt(32, known->first), llvm::APInt(32, known->end)});
    return value;
  }
  bool wide = llvm::is_contained({"%clock64", "%globaltimer", "%gridid", "%current_graph_exec"}, name) ||
              (name.starts_with("%pm") && name.ends_with("_64"));
  llvm::Type* type = wide ? builder_.getInt64Ty() : builder_.getInt32Ty();
  std::string text = std::string(wide ? "mov.u64" : "mov.u32") + " $0, " + name.str() + ";";
  if (name == "%is_explicit_cluster") {
    text = "{ .reg .pred %p; mov.pred %p, %is_explicit_cluster; selp.u32 $0, 1, 0, %p; }";
  }
  auto* assembly = llvm::InlineAsm::get(llvm::FunctionType::get(type, false), text, wide ? "=l" : "=r", true);
  return builder_.CreateCall(assembly);
}

Value* FunctionLifter::address_of(StringRef name) {
  auto [base, distance] = name.split('+');
  base = base.trim();
  Value* address = find(&Scope::places, base).address;
  if (!address) address = module_.variable(base);
  if (!address) address = module_.function(base);
  if (!address) return nullptr;
  if (!distance.empty()) {
    std::optional<uint64_t> offset = ptx_integer(distance);
    if (!offset) return nullptr;
    address = builder_.CreateGEP(builder_.getInt8Ty(), address, builder_.getInt64(*offset));
  }
  return builder_.CreatePtrToInt(address, builder_.getInt64Ty());
}

Value* FunctionLifter::read(StringRef operand) {
  operand = operand.trim();
  if (operand.consume_front("!")) return builder_.CreateNot(as_type(builder_, read(operand), builder_.getInt1Ty()));
  if (Register* held = find_register(operand)) {
    return builder_.CreateLoad(held->slot->getAllocatedType(), held->slot);
  }
  if (operand.starts_with("%") || operand == "WARP_SZ") return special_register(operand);
  if (Value* number = ptx_number(builder_, operand)) return number;
  Value* address = address_of(operand);
  if (!address) fail(*here_, "names '" + operand.str() + "', which it does not declare");
  return address;
}

void FunctionLifter::write(StringRef target, Value* value, bool is_signed) {
  if (target == "_") return;
  Register* to = find_register(target);
  if (!to) fail(*here_, "writes to '" + target.str() + "', which is no register");
  builder_.CreateStore(as_type(builder_, value, to->slot->getAllocatedType(), is_signed), to->slot);
}

bool FunctionLifter::lift_plain(const PtxStatement& statement) {
  if (statement.operands.empty() || !writes_first(statement)) return false;
  StringRef operation = statement.operation();
  if ((!is_pure(operation) && !statement.takes_carry()) || is_video(operation)) return false;
  auto targets = split_targets(statement.operands[0]);
  if (!targets) return false;
  llvm::SmallVector<Value*, 6> operands;
  for (StringRef operand : llvm::drop_begin(statement.operands)) {
    if (operand.starts_with("{") && operation == "mov") {
      auto elements = split_targets(operand);
      std::optional<PtxType> type = PtxName(statement.name).take_type();
      if (!elements || !type || type->bits % elements->size()) return false;
      llvm::SmallVector<Value*, 4> values;
      for (StringRef element : *elements) values.push_back(read(element));
      operands.push_back(join_elements(builder_, values, type->bits));
    } else if (operand.starts_with("{") || operand.starts_with("[")) {
      return false;
    } else {
      operands.push_back(read(operand));
    }
  }
  if (divides_by_unknown(statement, operands)) return false;
  Value* carry = statement.takes_carry() ? builder_.CreateLoad(builder_.getInt1Ty(), carry_) : nullptr;
  auto lift_by = [&](auto group) {
    return group(
        PtxInstruction{builder_, PtxName(statement.name), operands, static_cast<unsigned>(targets->size()), &carry});
  };
  PtxResult results = lift_by([&](PtxInstruction instruction) { return lift_plain_operation(instruction, flushes_); });
  if (!results) results = lift_by([](PtxInstruction instruction) { return raise_ptx_integer(instruction); });
  if (!results) results = lift_by([](PtxInstruction instruction) { return raise_ptx_bits(instruction); });
  if (!results || results->size() != targets->size()) return false;
  if (statement.gives_carry()) builder_.CreateStore(carry, carry_);
  PtxName name(statement.name);
  std::optional<PtxType> type = name.take_type();
  for (size_t i = 0; i < targets->size(); ++i) write((*targets)[i], (*results)[i], type && type->is_signed());
  return true;
}

void FunctionLifter::lift_assembly(const PtxStatement& statement) {
  llvm::SmallVector<llvm::Type*, 4> given, taken;
  llvm::SmallVector<Value*, 8> values;
  llvm::SmallVector<StringRef, 4> targets;
  std::string outputs, inputs;
  // Results have the first numbers: how many there are has to be known before the operands are.
  bool writes = writes_first(statement) && !statement.operands.empty();
  if (writes) {
    auto names = split_targets(statement.operands[0]);
    if (!names) fail(statement, "has a result that Mneme does not understand");
    for (StringRef& name : *names) {
      if (is_video(statement.operation())) name = split_part(name).name;
      Register* held = name == "_" ? nullptr : find_register(name);
      if (name == "_") continue;
      llvm::Type* type = held ? type_in_assembly(held->slot->getAllocatedType()) : nullptr;
      char constraint = type ? constraint_of(type) : '\0';
      if (!constraint) fail(statement, "writes to '" + name.str() + "', which is no register that assembly can have");
      outputs += std::string(outputs.empty() ? "=" : ",=") + constraint;
      targets.push_back(name);
      given.push_back(type);
    }
  }
  std::string text = statement.name.str();
  unsigned result = 0;
  auto number_of_input = [&](Value* value) {
    value = as_type(builder_, value, type_in_assembly(value->getType()));
    char constraint = constraint_of(value->getType());
    if (!constraint) fail(statement, "has an operand that assembly cannot have");
    inputs += std::string(inputs.empty() ? "" : ",") + constraint;
    values.push_back(value);
    taken.push_back(value->getType());
    return "$" + std::to_string(given.size() + values.size() - 1);
  };
  for (size_t i = 0; i < statement.operands.size(); ++i) {
    text += i ? ", " : " ";
    bool target = i == 0 && writes;
    for (StringRef rest = statement.operands[i]; !rest.empty();) {
      if (llvm::isDigit(rest.front())) {
        StringRef number = rest.take_while(is_in_name);
        text += number;
        rest = rest.drop_front(number.size());
      } else if (begins_name(rest.front())) {
        StringRef name = rest.take_front(1 + rest.drop_front().take_while(is_in_name).size());
        rest = rest.drop_front(name.size());
        Register* held = find_register(name);
        std::string part;
        if (!held && is_video(statement.operation())) {
          part = split_part(name).part;
          name = split_part(name).name;
          held = find_register(name);
        }
        if (name == "_" || name == "WARP_SZ" || (!held && name.starts_with("%"))) {
          text += name;
        } else if (target) {
          text += "$" + std::to_string(result++);
        } else {
          text += number_of_input(read(name));
        }
        if (!part.empty()) text += "." + part;
      } else {
        text += rest.front();
        rest = rest.drop_front();
      }
    }
  }
  text += ";";

  bool pure = is_pure(statement.operation());
  std::string constraints = outputs;
  if (!inputs.empty()) constraints += (constraints.empty() ? "" : ",") + inputs;
  if (!pure) constraints += constraints.empty() ? "~{memory}" : ",~{memory}";
  llvm::Type* type = given.empty()       ? builder_.getVoidTy()
                     : given.size() == 1 ? given[0]
                                         : llvm::StructType::get(context_, given);
  bool stays = !pure || is_fusible(statement);
  auto* assembly = llvm::InlineAsm::get(llvm::FunctionType::get(type, taken, false), text, constraints, stays);
  llvm::CallInst* call = builder_.CreateCall(assembly, values);
  call->addFnAttr(llvm::Attribute::NoUnwind);
  if (!pure) call->addFnAttr(llvm::Attribute::Convergent);
  if (pure && !stays) call->setDoesNotAccessMemory();
  if (pure && stays) call->setOnlyAccessesInaccessibleMemory();
  for (unsigned i = 0; i < targets.size(); ++i) {
    write(targets[i], given.size() == 1 ? call : builder_.CreateExtractValue(call, i));
  }
}

}  // namespace mneme::codegen::ptx
