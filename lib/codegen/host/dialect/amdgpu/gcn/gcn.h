// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AMD's inline assembly, instruction by instruction, as LLVM's IR: plain operations, or the intrinsic of LLVM's AMDGPU
// dialect that stands for the instruction, which is raised like the compiler's own. What each does is what AMD's
// manuals of the instruction sets say. What is not known is left where it is.
#pragma once
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "codegen/host/dialect/amdgpu/gcn/registers.h"
#include "codegen/host/dialect/amdgpu/gcn/text.h"

namespace mneme::codegen::host {

struct GcnInstruction {
  llvm::IRBuilderBase& builder;
  const GcnStatement& statement;
  GcnRegisters& registers;
  bool is_volatile = false;  // the assembly is
};

// The groups. False: it is not one of the group's, or has operands or modifiers that are not known.
bool raise_gcn_control(GcnInstruction& instruction);     // waits, barriers, ends, hints; hardware registers; exec
bool raise_gcn_memory(GcnInstruction& instruction);      // flat, global, scratch, scalar
bool raise_gcn_shared(GcnInstruction& instruction);      // ds
bool raise_gcn_buffer(GcnInstruction& instruction);      // by descriptors
bool raise_gcn_arithmetic(GcnInstruction& instruction);  // what arithmetic.cc's table has

// A row of the table of instructions that compute: `types` go where "@" stands in name and signature, one after the
// other. The signature has the results' types, a colon, the operands'; a "+" in front: the result's register is an
// operand, too, the last.
using GcnArguments = llvm::ArrayRef<llvm::Value*>;
struct GcnRow {
  const char* name;
  const char* types;
  const char* signature;
  // `type`: the first result's. Several results are a structure.
  llvm::Value* (*meaning)(llvm::IRBuilderBase& builder, GcnArguments in, llvm::Type* type);
};
llvm::ArrayRef<GcnRow> gcn_float_rows();
llvm::ArrayRef<GcnRow> gcn_integer_rows();
llvm::ArrayRef<GcnRow> gcn_conversion_rows();
llvm::ArrayRef<GcnRow> gcn_comparison_rows();
llvm::ArrayRef<GcnRow> gcn_packed_rows();
llvm::ArrayRef<GcnRow> gcn_scalar_rows();

// For rows: an operation of LLVM's; with its operands in the other order; an intrinsic.
template <llvm::Instruction::BinaryOps kOperation>
llvm::Value* gcn_binary(llvm::IRBuilderBase& builder, GcnArguments in, llvm::Type*) {
  return builder.CreateBinOp(kOperation, in[0], in[1]);
}
template <llvm::Instruction::BinaryOps kOperation>
llvm::Value* gcn_reversed(llvm::IRBuilderBase& builder, GcnArguments in, llvm::Type*) {
  return builder.CreateBinOp(kOperation, in[1], in[0]);
}
template <llvm::Intrinsic::ID kIntrinsic>
llvm::Value* gcn_intrinsic(llvm::IRBuilderBase& builder, GcnArguments in, llvm::Type* type) {
  return builder.CreateIntrinsic(type, kIntrinsic, in);
}
template <llvm::Intrinsic::ID kIntrinsic>
llvm::Value* gcn_three(llvm::IRBuilderBase& builder, GcnArguments in, llvm::Type*) {
  return builder.CreateBinaryIntrinsic(kIntrinsic, builder.CreateBinaryIntrinsic(kIntrinsic, in[0], in[1]), in[2]);
}
inline llvm::Value* gcn_pair(llvm::IRBuilderBase& builder, llvm::Value* first, llvm::Value* second) {
  auto* type = llvm::StructType::get(first->getType(), second->getType());
  return builder.CreateInsertValue(builder.CreateInsertValue(llvm::PoisonValue::get(type), first, 0), second, 1);
}
// The low bits of a shift's distance, of which the instruction sees as many as the value has use for.
llvm::Value* gcn_distance(llvm::IRBuilderBase& builder, llvm::Value* distance, llvm::Type* type);
template <llvm::Instruction::BinaryOps kShift>
llvm::Value* gcn_shift(llvm::IRBuilderBase& builder, GcnArguments in, llvm::Type* type) {
  return builder.CreateBinOp(kShift, in[0], gcn_distance(builder, in[1], type));
}
template <llvm::Instruction::BinaryOps kShift>
llvm::Value* gcn_shift_reversed(llvm::IRBuilderBase& builder, GcnArguments in, llvm::Type* type) {
  return builder.CreateBinOp(kShift, in[1], gcn_distance(builder, in[0], type));
}
// Of an addition or a subtraction: the carry or borrow that comes in is the third operand.
llvm::Value* gcn_add_with_carry(llvm::IRBuilderBase& builder, llvm::Value* a, llvm::Value* b, llvm::Value* carry);
llvm::Value* gcn_subtract_with_borrow(llvm::IRBuilderBase& builder, llvm::Value* a, llvm::Value* b,
                                      llvm::Value* borrow);
// Zero bits above the highest one, or below the lowest; all ones where there is none.
llvm::Value* gcn_count_zeros(llvm::IRBuilderBase& builder, llvm::Value* value, bool from_above);

// Raises what is known of a module's inline assembly, before the intrinsics that it makes are.
void raise_gcn_assembly(llvm::Module& module);

}  // namespace mneme::codegen::host
