// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads, stores, atomic updates and addresses. Accesses that are more than an ordinary one are left to statement.cc.
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/InlineAsm.h>

#include "codegen/ptx/constants.h"
#include "codegen/ptx/function.h"

namespace mneme::codegen::ptx {

using llvm::StringRef;
using llvm::Value;

namespace {

struct Access {
  PtxType type;
  unsigned count = 1;
  bool is_volatile = false, never_changes = false;
  StringRef space;
};

// Nothing: one with an order, or a hint that only the instruction itself carries.
std::optional<Access> access_of(PtxName name) {
  Access access;
  access.is_volatile = name.take("volatile");
  access.never_changes = name.take("nc");
  name.take("weak");
  access.space =
      name.take_one_of({"global", "shared", "shared::cta", "local", "const", "param", "param::entry", "param::func"});
  access.count = name.take("v2") ? 2 : name.take("v4") ? 4 : 1;
  std::optional<PtxType> type = name.take_type();
  if (!type || type->kind == PtxType::kPredicate || !name.is_used_up()) return std::nullopt;
  access.type = *type;
  return access;
}

}  // namespace

// "[%rd1+16]", "[name]", "[name+16]".
Value* FunctionLifter::pointer(StringRef operand, StringRef space) {
  if (!operand.consume_front("[") || !operand.consume_back("]")) fail(*here_, "has no address");
  StringRef base = operand.take_until([](char c) { return c == '+'; }).trim();
  uint64_t distance = 0;
  if (base.size() != operand.trim().size()) {
    std::optional<uint64_t> known = ptx_integer(operand.split('+').second);
    if (!known) fail(*here_, "has an address that is none");
    distance = *known;
  }
  Value* address = find(&Scope::places, base).address;
  if (!address) address = module_.variable(base);
  if (!address) {
    Value* number = read(base);
    auto* type = llvm::PointerType::get(context_, address_space(space));
    address = builder_.CreateIntToPtr(number, type);
  }
  if (distance) {
    address = builder_.CreateGEP(builder_.getInt8Ty(), address, builder_.getInt64(distance));
  }
  return address;
}

bool FunctionLifter::load(const PtxStatement& statement) {
  std::optional<Access> access = access_of(PtxName(statement.name));
  if (!access || statement.operands.size() != 2) return false;
  auto targets = split_targets(statement.operands[0]);
  if (!targets || targets->size() != access->count) return false;
  Value* from = pointer(statement.operands[1], access->space);
  llvm::Type* type = access->type.of(context_);
  if (access->count > 1) type = llvm::FixedVectorType::get(type, access->count);
  llvm::LoadInst* value =
      builder_.CreateAlignedLoad(type, from, llvm::Align(access->type.bits / 8 * access->count), access->is_volatile);
  if (access->never_changes) {
    value->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
  }
  for (unsigned i = 0; i < access->count; ++i) {
    Value* element = access->count == 1 ? value : builder_.CreateExtractElement(value, i);
    write((*targets)[i], element, access->type.is_signed());
  }
  return true;
}

bool FunctionLifter::store(const PtxStatement& statement) {
  std::optional<Access> access = access_of(PtxName(statement.name));
  if (!access || statement.operands.size() != 2) return false;
  auto sources = split_targets(statement.operands[1]);
  if (!sources || sources->size() != access->count) return false;
  llvm::Type* type = access->type.of(context_);
  Value* value = nullptr;
  for (unsigned i = 0; i < access->count; ++i) {
    Value* element = as_type(builder_, read((*sources)[i]), access->type);
    if (access->count == 1) {
      value = element;
    } else {
      if (!value) value = llvm::PoisonValue::get(llvm::FixedVectorType::get(type, access->count));
      value = builder_.CreateInsertElement(value, element, i);
    }
  }
  Value* to = pointer(statement.operands[0], access->space);
  builder_.CreateAlignedStore(value, to, llvm::Align(access->type.bits / 8 * access->count), access->is_volatile);
  return true;
}

// atom and red on integers, with no order and for the whole device: clang's functions are LLVM's updates, too.
bool FunctionLifter::update(const PtxStatement& statement) {
  PtxName name(statement.name);
  bool gives = name.operation() == "atom";
  name.take("relaxed");
  name.take("gpu");
  StringRef space = name.take_one_of({"global", "shared", "shared::cta"});
  StringRef operation = name.take_one_of({"and", "or", "xor", "exch", "add", "min", "max", "cas"});
  std::optional<PtxType> type = name.take_type();
  bool swaps = operation == "cas";
  if (operation.empty() || !type || type->is_floating() || type->kind == PtxType::kPredicate || type->lanes != 1 ||
      (type->bits != 32 && type->bits != 64) || !name.is_used_up() || statement.operands.size() != 2u + gives + swaps) {
    return false;
  }
  StringRef address = statement.operands[gives];
  Value* place = pointer(address, space);
  llvm::Align align(type->bits / 8);
  llvm::SmallVector<Value*, 2> in;
  for (StringRef operand : llvm::ArrayRef(statement.operands).drop_front(gives + 1u)) {
    in.push_back(as_type(builder_, read(operand), *type));
  }
  constexpr auto kOrder = llvm::AtomicOrdering::Monotonic;
  Value* old = nullptr;
  if (swaps) {
    old = builder_.CreateExtractValue(builder_.CreateAtomicCmpXchg(place, in[0], in[1], align, kOrder, kOrder), 0);
  } else {
    using Update = llvm::AtomicRMWInst;
    auto which = llvm::StringSwitch<Update::BinOp>(operation)
                     .Case("and", Update::And)
                     .Case("or", Update::Or)
                     .Case("xor", Update::Xor)
                     .Case("exch", Update::Xchg)
                     .Case("add", Update::Add)
                     .Case("min", type->is_signed() ? Update::Min : Update::UMin)
                     .Default(type->is_signed() ? Update::Max : Update::UMax);
    old = builder_.CreateAtomicRMW(which, place, in[0], align, kOrder);
  }
  if (gives) write(statement.operands[0], old);
  return true;
}

// cvta.shared.u64, cvta.to.shared.u64: between an address of a space and a generic one.
bool FunctionLifter::convert_address(const PtxStatement& statement) {
  PtxName name(statement.name);
  bool to_space = name.take("to");
  StringRef space = name.take_one_of({"global", "shared", "shared::cta", "local", "const", "param", "param::entry"});
  if (space.empty() || !name.take("u64") || !name.is_used_up() || statement.operands.size() != 2) return false;
  auto* generic = llvm::PointerType::get(context_, kGeneric);
  auto* own = llvm::PointerType::get(context_, address_space(space));
  Value* address = builder_.CreateIntToPtr(read(statement.operands[1]), to_space ? generic : own);
  address = builder_.CreateAddrSpaceCast(address, to_space ? own : generic);
  write(statement.operands[0], builder_.CreatePtrToInt(address, builder_.getInt64Ty()));
  return true;
}

// alloca gives an address in local memory; in this IR those are generic.
void FunctionLifter::allocate(const PtxStatement& statement) {
  llvm::ArrayRef<StringRef> operands = statement.operands;
  std::optional<uint64_t> align = operands.size() == 3 ? ptx_integer(operands[2]) : 8;
  if (statement.name != "alloca.u64" || operands.size() < 2 || operands.size() > 3 || !align) {
    fail(statement, "is no alloca that Mneme understands");
  }
  std::string text =
      "{ .reg .b64 %own; alloca.u64 %own, $1, " + std::to_string(*align) + "; cvta.local.u64 $0, %own; }";
  llvm::Type* number = builder_.getInt64Ty();
  auto* assembly = llvm::InlineAsm::get(llvm::FunctionType::get(number, {number}, false), text, "=l,l,~{memory}", true);
  llvm::CallInst* made = builder_.CreateCall(assembly, {as_type(builder_, read(operands[1]), number)});
  made->addFnAttr(llvm::Attribute::NoUnwind);
  made->addFnAttr(llvm::Attribute::Convergent);
  write(operands[0], made);
  // Its memory is free again when it returns. LLVM does not see that of an inlined function.
  if (!source_.is_kernel) function_.addFnAttr(llvm::Attribute::NoInline);
}

bool FunctionLifter::lift_memory(const PtxStatement& statement) {
  StringRef operation = statement.operation();
  if (operation == "ld" || operation == "ldu") return load(statement);
  if (operation == "st") return store(statement);
  if (operation == "atom" || operation == "red") return update(statement);
  if (operation == "alloca") {
    allocate(statement);
    return true;
  }
  return operation == "cvta" && convert_address(statement);
}

}  // namespace mneme::codegen::ptx
