// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads, stores and updates of memory by flat, global and scalar instructions. Nothing is asynchronous here: what was
// asked for is there, and the waits for it are nothing.
#include "codegen/host/dialect/amdgpu/gcn/memory.h"

#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/Support/AMDGPUAddrSpace.h>

namespace mneme::codegen::host {
namespace {

using llvm::AtomicRMWInst;
using llvm::StringRef;
using llvm::Value;
using Builder = llvm::IRBuilderBase;

constexpr llvm::AtomicOrdering kRelaxed = llvm::AtomicOrdering::Monotonic;

// The operands of an access: the value's, the address's, and what the address is relative to ("off": nothing).
struct Place {
  StringRef value, address, base;
};

Value* address_of(GcnInstruction& instruction, const Place& place) {
  Builder& builder = instruction.builder;
  std::optional<int64_t> offset = instruction.statement.number("offset", 0);
  if (!offset) return nullptr;
  Value* address = nullptr;
  if (place.base.empty() || place.base == "off") {
    address = instruction.registers.read_address(place.address);
  } else {
    address = instruction.registers.read_address(place.base);
    Value* distance = instruction.registers.read(place.address, {});
    if (!address || !distance) return nullptr;
    address = builder.CreateGEP(builder.getInt8Ty(), address, builder.CreateZExt(distance, builder.getInt64Ty()));
  }
  return address ? gcn_behind(builder, address, *offset) : nullptr;
}

// global_load_lds_dword v[0:1], off: from where m0 says.
bool raise_load_to_shared(GcnInstruction& instruction, StringRef name) {
  const auto& operands = instruction.statement.operands;
  Builder& builder = instruction.builder;
  std::optional<GcnSize> size = gcn_size(name);
  std::optional<int64_t> offset = instruction.statement.number("offset", 0);
  if (!size || !gcn_goes_to_shared(*size) || !offset || operands.empty() || operands.size() > 2) return false;
  Value *from = address_of(instruction, {"", operands[0], operands.size() == 2 ? operands[1] : ""}),
        *to = instruction.registers.read_shared_address("m0");
  if (!from || !to) return false;
  // The offset counts for both addresses.
  from = builder.CreateAddrSpaceCast(gcn_behind(builder, from, -*offset),
                                     builder.getPtrTy(llvm::AMDGPUAS::GLOBAL_ADDRESS));
  builder.CreateIntrinsic(llvm::Intrinsic::amdgcn_global_load_lds, {},
                          {from, to, builder.getInt32(size->bits / 8), builder.getInt32(static_cast<uint32_t>(*offset)),
                           builder.getInt32(0)});
  return true;
}

// flat_load_…, global_load_…, …_store_…, …_atomic_….
bool raise_vector_access(GcnInstruction& instruction, StringRef name, bool flat) {
  const GcnStatement& statement = instruction.statement;
  GcnRegisters& registers = instruction.registers;
  Builder& builder = instruction.builder;
  auto operand = [&](size_t i) {
    return i < statement.operands.size() ? StringRef(statement.operands[i]) : StringRef();
  };
  const bool to_shared = !flat && (statement.has("lds") || name.starts_with("load_lds_"));
  if (has_more_than_hints(statement, {"offset", to_shared ? "lds" : "offset"})) return false;
  if (to_shared) {
    return name.consume_front("load_") && (name.consume_front("lds_"), raise_load_to_shared(instruction, name));
  }
  // Some leave "off" away.
  size_t count = statement.operands.size();
  bool based = count > 2 && !flat;
  if (name.consume_front("load_")) {
    std::optional<GcnSize> size = gcn_size(name);
    if (!size || count < 2 || count > (flat ? 2 : 3)) return false;
    Value* address = address_of(instruction, {operand(0), operand(1), operand(2)});
    return address && registers.write(operand(0), gcn_load(instruction, address, *size));
  }
  if (name.consume_front("store_")) {
    std::optional<GcnSize> size = gcn_size(name);
    if (!size || count < 2 || count > (flat ? 2 : 3)) return false;
    Value* address = address_of(instruction, {operand(1), operand(0), based ? operand(2) : ""});
    Value* value = registers.read(operand(1), {GcnType::kBits, std::max(size->bits, 32U), 1});
    if (!address || !value) return false;
    gcn_store(instruction, address, *size, value);
    return true;
  }
  if (!name.consume_front("atomic_")) return false;
  std::optional<GcnUpdate> update = gcn_update(name);
  size_t gives = gives_old_value(statement);
  if (!update || count < 2 + gives || count > (flat ? 2 : 3) + gives) return false;
  Value* address = address_of(instruction, {operand(gives + 1), operand(gives), operand(gives + 2)});
  if (!address) return false;
  Value* old = nullptr;
  if (update->exchanges) {  // the new value, then the one to be found
    unsigned bits = update->type.bits;
    Value* both = registers.read(operand(gives + 1), {GcnType::kBits, 2 * bits, 1});
    if (!both) return false;
    llvm::Type* type = builder.getIntNTy(bits);
    old = gcn_exchange(builder, address, builder.CreateTrunc(builder.CreateLShr(both, bits), type),
                       builder.CreateTrunc(both, type));
  } else {
    Value* value = registers.read(operand(gives + 1), update->type);
    if (!value) return false;
    old = gcn_update_memory(builder, *update, address, value);
  }
  return !gives || registers.write(operand(0), old);
}

// s_load_dwordx4 $0, $1, 16.
bool raise_scalar_load(GcnInstruction& instruction, StringRef name) {
  const auto& operands = instruction.statement.operands;
  std::optional<GcnSize> size = gcn_size(name);
  if (!size || size->bits < 32 || operands.size() < 2 || operands.size() > 3) return false;
  if (has_more_than_hints(instruction.statement, {"offset"})) return false;
  Place place{operands[0], operands[1], ""};
  Value* address = address_of(instruction, place);
  if (!address) return false;
  if (operands.size() == 3 && operands[2] != "null") {
    Value* distance = instruction.registers.read(operands[2], {});
    if (!distance) return false;
    Builder& builder = instruction.builder;
    address = builder.CreateGEP(builder.getInt8Ty(), address, builder.CreateZExt(distance, builder.getInt64Ty()));
  }
  return instruction.registers.write(operands[0], gcn_load(instruction, address, *size));
}

llvm::Type* memory_type(Builder& builder, unsigned bits) {
  if (bits <= 64) return builder.getIntNTy(bits);
  return llvm::FixedVectorType::get(builder.getInt32Ty(), bits / 32);
}

llvm::Align memory_align(unsigned bits) { return llvm::Align(std::min(bits / 8, 4U)); }

}  // namespace

std::optional<GcnSize> gcn_size(StringRef name) {
  unsigned bits = llvm::StringSwitch<unsigned>(name)
                      .Cases("ubyte", "sbyte", "byte", "u8", "i8", "b8", 8)
                      .Cases("ushort", "sshort", "short", "u16", "i16", "b16", 16)
                      .Cases("dword", "b32", 32)
                      .Cases("dwordx2", "b64", 64)
                      .Cases("dwordx3", "b96", 96)
                      .Cases("dwordx4", "b128", 128)
                      .Cases("dwordx8", "b256", 256)
                      .Cases("dwordx16", "b512", 512)
                      .Default(0);
  if (!bits) return std::nullopt;
  return GcnSize{bits, name.starts_with("sbyte") || name.starts_with("sshort") || name.starts_with("i")};
}

Value* gcn_load(GcnInstruction& instruction, Value* address, GcnSize size) {
  Builder& builder = instruction.builder;
  Value* value = builder.CreateAlignedLoad(memory_type(builder, size.bits), address, memory_align(size.bits),
                                           instruction.is_volatile);
  if (size.bits >= 32) return value;
  return size.is_signed ? builder.CreateSExt(value, builder.getInt32Ty())
                        : builder.CreateZExt(value, builder.getInt32Ty());
}

void gcn_store(GcnInstruction& instruction, Value* address, GcnSize size, Value* value) {
  Builder& builder = instruction.builder;
  llvm::Type* type = memory_type(builder, size.bits);
  value = size.bits < 32 ? builder.CreateTrunc(value, type) : builder.CreateBitCast(value, type);
  builder.CreateAlignedStore(value, address, memory_align(size.bits), instruction.is_volatile);
}

bool gcn_goes_to_shared(GcnSize size) { return size.bits == 32 || size.bits == 96 || size.bits == 128; }

Value* gcn_behind(Builder& builder, Value* address, int64_t bytes) {
  if (!bytes) return address;
  llvm::Type* index = address->getType()->getPointerAddressSpace() == 3 ? builder.getInt32Ty() : builder.getInt64Ty();
  return builder.CreateGEP(builder.getInt8Ty(), address, llvm::ConstantInt::getSigned(index, bytes));
}

std::optional<GcnUpdate> gcn_update(StringRef name) {
  GcnUpdate update;
  if (name == "pk_add_f16" || name == "pk_add_bf16") {
    update.operation = AtomicRMWInst::FAdd;
    update.type = GcnType::parse(name.drop_front(7).str() + "x2");
    return update;
  }
  StringRef type = "u32";
  if (name.consume_back("_x2")) {
    type = "u64";
  } else if (name.contains('_')) {
    std::tie(name, type) = name.rsplit('_');
    if (!llvm::is_contained({"u32", "i32", "b32", "u64", "i64", "b64", "f32", "f64"}, type)) return std::nullopt;
  }
  name.consume_back("_num");
  update.type = GcnType::parse(type);
  if (name == "cmpswap" || name == "cmpst" || name == "cmpstore") {
    update.exchanges = true;
    return update;
  }
  if (name == "fmin" || name == "fmax") {
    name = name.drop_front();
    update.type.kind = GcnType::kFloat;
  }
  bool is_signed = type.starts_with("i");
  update.operation = update.type.is_floating() ? llvm::StringSwitch<AtomicRMWInst::BinOp>(name)
                                                     .Case("add", AtomicRMWInst::FAdd)
                                                     .Case("min", AtomicRMWInst::FMin)
                                                     .Case("max", AtomicRMWInst::FMax)
                                                     .Default(AtomicRMWInst::BAD_BINOP)
                                               : llvm::StringSwitch<AtomicRMWInst::BinOp>(name)
                                                     .Case("add", AtomicRMWInst::Add)
                                                     .Case("sub", AtomicRMWInst::Sub)
                                                     .Case("and", AtomicRMWInst::And)
                                                     .Case("or", AtomicRMWInst::Or)
                                                     .Case("xor", AtomicRMWInst::Xor)
                                                     .Case("inc", AtomicRMWInst::UIncWrap)
                                                     .Case("dec", AtomicRMWInst::UDecWrap)
                                                     .Cases("swap", "wrxchg", "storexchg", AtomicRMWInst::Xchg)
                                                     .Case("smin", AtomicRMWInst::Min)
                                                     .Case("smax", AtomicRMWInst::Max)
                                                     .Case("umin", AtomicRMWInst::UMin)
                                                     .Case("umax", AtomicRMWInst::UMax)
                                                     .Case("min", is_signed ? AtomicRMWInst::Min : AtomicRMWInst::UMin)
                                                     .Case("max", is_signed ? AtomicRMWInst::Max : AtomicRMWInst::UMax)
                                                     .Default(AtomicRMWInst::BAD_BINOP);
  if (update.operation == AtomicRMWInst::BAD_BINOP) return std::nullopt;
  return update;
}

Value* gcn_exchange(Builder& builder, Value* address, Value* found, Value* wanted) {
  Value* both = builder.CreateAtomicCmpXchg(address, found, wanted, llvm::MaybeAlign(), kRelaxed, kRelaxed);
  return builder.CreateExtractValue(both, 0);
}

Value* gcn_update_memory(Builder& builder, const GcnUpdate& update, Value* address, Value* value) {
  return builder.CreateAtomicRMW(update.operation, address, value, llvm::MaybeAlign(), kRelaxed);
}

bool has_more_than_hints(const GcnStatement& statement, std::initializer_list<StringRef> known) {
  return llvm::any_of(statement.modifiers, [&](const auto& modifier) {
    return !llvm::is_contained({"glc", "slc", "dlc", "sc0", "sc1", "nt", "th", "scope"}, modifier.first()) &&
           !llvm::is_contained(known, modifier.first());
  });
}

bool gives_old_value(const GcnStatement& statement) {
  return statement.has("glc") || statement.has("sc0") || StringRef(statement.modifiers.lookup("th")).contains("RETURN");
}

bool raise_gcn_memory(GcnInstruction& instruction) {
  StringRef name = instruction.statement.name;
  if (name.consume_front("flat_")) return raise_vector_access(instruction, name, true);
  if (name.consume_front("global_")) return raise_vector_access(instruction, name, false);
  return name.consume_front("s_load_") && raise_scalar_load(instruction, name);
}

}  // namespace mneme::codegen::host
