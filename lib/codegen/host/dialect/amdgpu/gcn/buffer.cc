// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instructions on memory by descriptors: the intrinsics of LLVM's that stand for them.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include "codegen/host/dialect/amdgpu/gcn/memory.h"

namespace mneme::codegen::host {
namespace {

using llvm::AtomicRMWInst;
using llvm::StringRef;
using llvm::Value;
using Builder = llvm::IRBuilderBase;

// What an intrinsic takes after the value: descriptor, index where there is one, offsets, cache hints.
struct BufferPlace {
  llvm::SmallVector<Value*, 8> operands;
  Value* fixed = nullptr;  // apart from the offset
  bool indexed = false;
};

// Operands from `first` on: "v1" or "off", descriptor, scalar offset; and the modifiers.
enum class FixedOffset { kAdded, kApart };
std::optional<BufferPlace> read_place(GcnInstruction& instruction, size_t first,
                                      FixedOffset apart = FixedOffset::kAdded) {
  const GcnStatement& statement = instruction.statement;
  Builder& builder = instruction.builder;
  if (statement.operands.size() != first + 3 || has_more_than_hints(statement, {"offen", "idxen", "offset", "lds"})) {
    return std::nullopt;
  }
  std::optional<int64_t> fixed = statement.number("offset", 0);
  if (!fixed) return std::nullopt;
  BufferPlace place;
  place.indexed = statement.has("idxen");
  bool moved = statement.has("offen");
  if ((place.indexed || moved) == (statement.operands[first] == "off")) return std::nullopt;
  Value *index = nullptr, *offset = builder.getInt32(0);
  if (place.indexed && moved) {
    Value* both = instruction.registers.read(statement.operands[first], {GcnType::kBits, 64, 1});
    if (!both) return std::nullopt;
    index = builder.CreateTrunc(both, builder.getInt32Ty());
    offset = builder.CreateTrunc(builder.CreateLShr(both, 32), builder.getInt32Ty());
  } else if (place.indexed || moved) {
    Value* value = instruction.registers.read(statement.operands[first], {});
    if (!value) return std::nullopt;
    (place.indexed ? index : offset) = value;
  }
  place.fixed = builder.getInt32(static_cast<uint32_t>(*fixed));
  if (apart == FixedOffset::kAdded) offset = builder.CreateAdd(offset, place.fixed);
  Value* descriptor = instruction.registers.read(statement.operands[first + 1], {GcnType::kBits, 32, 4});
  Value* scalar = instruction.registers.read(statement.operands[first + 2], {});
  if (!descriptor || !scalar) return std::nullopt;
  place.operands.push_back(descriptor);
  if (index) place.operands.push_back(index);
  place.operands.append({offset, scalar, builder.getInt32(0)});
  return place;
}

llvm::Type* buffer_type(Builder& builder, unsigned bits) {
  if (bits <= 32) return builder.getIntNTy(bits);
  return llvm::FixedVectorType::get(builder.getInt32Ty(), bits / 32);
}

// To shared memory, lane after lane from where m0 says.
bool load_to_shared(GcnInstruction& instruction, GcnSize size) {
  std::optional<BufferPlace> place = read_place(instruction, 0, FixedOffset::kApart);
  Value* to = instruction.registers.read_shared_address("m0");
  if (!place || !to || !gcn_goes_to_shared(size)) return false;
  auto id =
      place->indexed ? llvm::Intrinsic::amdgcn_struct_buffer_load_lds : llvm::Intrinsic::amdgcn_raw_buffer_load_lds;
  auto& operands = place->operands;
  operands.insert(operands.begin() + 1, {to, instruction.builder.getInt32(size.bits / 8)});
  operands.insert(operands.end() - 1, place->fixed);
  instruction.builder.CreateIntrinsic(id, {}, operands);
  return true;
}

bool load(GcnInstruction& instruction, StringRef name) {
  std::optional<GcnSize> size = gcn_size(name);
  if (!size || size->bits > 128) return false;
  if (instruction.statement.has("lds")) return load_to_shared(instruction, *size);
  std::optional<BufferPlace> place = read_place(instruction, 1);
  if (!place) return false;
  Builder& builder = instruction.builder;
  auto id = place->indexed ? llvm::Intrinsic::amdgcn_struct_buffer_load : llvm::Intrinsic::amdgcn_raw_buffer_load;
  Value* value = builder.CreateIntrinsic(id, {buffer_type(builder, size->bits)}, place->operands);
  if (size->bits < 32) {
    value = size->is_signed ? builder.CreateSExt(value, builder.getInt32Ty())
                            : builder.CreateZExt(value, builder.getInt32Ty());
  }
  return instruction.registers.write(instruction.statement.operands[0], value);
}

bool store(GcnInstruction& instruction, StringRef name) {
  std::optional<GcnSize> size = gcn_size(name);
  if (!size || size->bits > 128 || instruction.statement.has("lds")) return false;
  std::optional<BufferPlace> place = read_place(instruction, 1);
  Value* value = place ? instruction.registers.read(instruction.statement.operands[0],
                                                    {GcnType::kBits, std::max(size->bits, 32U), 1})
                       : nullptr;
  if (!value) return false;
  Builder& builder = instruction.builder;
  llvm::Type* type = buffer_type(builder, size->bits);
  value = size->bits < 32 ? builder.CreateTrunc(value, type) : builder.CreateBitCast(value, type);
  auto id = place->indexed ? llvm::Intrinsic::amdgcn_struct_buffer_store : llvm::Intrinsic::amdgcn_raw_buffer_store;
  place->operands.insert(place->operands.begin(), value);
  builder.CreateIntrinsic(id, {type}, place->operands);
  return true;
}

llvm::Intrinsic::ID update_id(AtomicRMWInst::BinOp operation, bool indexed) {
  using namespace llvm::Intrinsic;
  switch (operation) {
    case AtomicRMWInst::Add:
      return indexed ? amdgcn_struct_buffer_atomic_add : amdgcn_raw_buffer_atomic_add;
    case AtomicRMWInst::Sub:
      return indexed ? amdgcn_struct_buffer_atomic_sub : amdgcn_raw_buffer_atomic_sub;
    case AtomicRMWInst::And:
      return indexed ? amdgcn_struct_buffer_atomic_and : amdgcn_raw_buffer_atomic_and;
    case AtomicRMWInst::Or:
      return indexed ? amdgcn_struct_buffer_atomic_or : amdgcn_raw_buffer_atomic_or;
    case AtomicRMWInst::Xor:
      return indexed ? amdgcn_struct_buffer_atomic_xor : amdgcn_raw_buffer_atomic_xor;
    case AtomicRMWInst::Xchg:
      return indexed ? amdgcn_struct_buffer_atomic_swap : amdgcn_raw_buffer_atomic_swap;
    case AtomicRMWInst::Min:
      return indexed ? amdgcn_struct_buffer_atomic_smin : amdgcn_raw_buffer_atomic_smin;
    case AtomicRMWInst::Max:
      return indexed ? amdgcn_struct_buffer_atomic_smax : amdgcn_raw_buffer_atomic_smax;
    case AtomicRMWInst::UMin:
      return indexed ? amdgcn_struct_buffer_atomic_umin : amdgcn_raw_buffer_atomic_umin;
    case AtomicRMWInst::UMax:
      return indexed ? amdgcn_struct_buffer_atomic_umax : amdgcn_raw_buffer_atomic_umax;
    case AtomicRMWInst::UIncWrap:
      return indexed ? amdgcn_struct_buffer_atomic_inc : amdgcn_raw_buffer_atomic_inc;
    case AtomicRMWInst::UDecWrap:
      return indexed ? amdgcn_struct_buffer_atomic_dec : amdgcn_raw_buffer_atomic_dec;
    case AtomicRMWInst::FAdd:
      return indexed ? amdgcn_struct_buffer_atomic_fadd : amdgcn_raw_buffer_atomic_fadd;
    case AtomicRMWInst::FMin:
      return indexed ? amdgcn_struct_buffer_atomic_fmin : amdgcn_raw_buffer_atomic_fmin;
    case AtomicRMWInst::FMax:
      return indexed ? amdgcn_struct_buffer_atomic_fmax : amdgcn_raw_buffer_atomic_fmax;
    default:
      return not_intrinsic;
  }
}

// The old value comes back in the operand's register.
bool update(GcnInstruction& instruction, StringRef name) {
  std::optional<GcnUpdate> update = gcn_update(name);
  if (!update || update->exchanges || instruction.statement.has("lds")) return false;
  std::optional<BufferPlace> place = read_place(instruction, 1);
  if (!place) return false;
  auto id = update_id(update->operation, place->indexed);
  StringRef data = instruction.statement.operands[0];
  Value* value = instruction.registers.read(data, update->type);
  if (!value || id == llvm::Intrinsic::not_intrinsic) return false;
  place->operands.insert(place->operands.begin(), value);
  Value* old = instruction.builder.CreateIntrinsic(id, {value->getType()}, place->operands);
  return !gives_old_value(instruction.statement) || instruction.registers.write(data, old);
}

}  // namespace

bool raise_gcn_buffer(GcnInstruction& instruction) {
  StringRef name = instruction.statement.name;
  if (!name.consume_front("buffer_")) return false;
  if (name.consume_front("load_")) return load(instruction, name);
  if (name.consume_front("store_")) return store(instruction, name);
  return name.consume_front("atomic_") && update(instruction, name);
}

}  // namespace mneme::codegen::host
