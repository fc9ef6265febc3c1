// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An instruction of PTX: its name and types, its operands as LLVM's values. Shared by the reader of PTX and by the
// compiler for the CPU. The groups here give ordinary LLVM IR that holds for both.
#pragma once
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>

#include <initializer_list>
#include <optional>

#include "ir/as_type.h"

namespace mneme::codegen::ptx {

using ir::as_type;

// .u32, .f16x2, .pred.
struct PtxType {
  enum Kind { kBits, kUnsigned, kSigned, kFloat, kBrain, kPredicate };
  Kind kind = kBits;
  unsigned bits = 32;  // of an element
  unsigned lanes = 1;  // 2: packed

  static std::optional<PtxType> parse(llvm::StringRef text);
  bool is_floating() const { return kind == kFloat || kind == kBrain; }
  bool is_signed() const { return kind == kSigned; }
  bool is_single() const { return kind == kFloat && bits == 32; }
  PtxType element() const { return {kind, bits, 1}; }
  // bfloat16 is an integer of that size: LLVM's type needs functions that the host may not have.
  llvm::Type* of(llvm::LLVMContext& context) const;
};

// "fma.rn.ftz.f32". Its parts behind the operation are taken one by one; all of them must be.
class PtxName {
 public:
  explicit PtxName(llvm::StringRef text);

  llvm::StringRef operation() const { return operation_; }
  bool take(llvm::StringRef part);
  // Whichever of these it has; else empty.
  llvm::StringRef take_one_of(std::initializer_list<llvm::StringRef> parts);
  std::optional<PtxType> take_type();  // the first
  // The part that stands first, whatever it is.
  llvm::StringRef take_first();
  bool is_used_up() const { return parts_.empty(); }

 private:
  llvm::StringRef operation_;
  llvm::SmallVector<llvm::StringRef, 6> parts_;
};

using PtxValues = llvm::SmallVector<llvm::Value*, 4>;
// What an instruction gives; nothing: not one of the group's, or not known.
using PtxResult = std::optional<PtxValues>;

struct PtxInstruction {
  llvm::IRBuilderBase& builder;
  PtxName name;
  llvm::SmallVector<llvm::Value*, 6> operands;
  unsigned results = 1;                    // that are asked for: 2 for "r|p"
  llvm::Value** carry = nullptr;           // the flag of add.cc and its like, in assembly
  llvm::ArrayRef<std::string> parts = {};  // of a video instruction's result and operands (split_part)
};

// A value in a register, seen as a type; a narrower integer is extended as that type says.
llvm::Value* as_type(llvm::IRBuilderBase& builder, llvm::Value* value, const PtxType& type);

// An operation on each element.
llvm::Value* by_elements(llvm::IRBuilderBase& builder, const PtxType& type, llvm::ArrayRef<llvm::Value*> operands,
                         llvm::function_ref<llvm::Value*(llvm::ArrayRef<llvm::Value*>)> operation);

// 7, -7, 0x7, 7U, (1+2)*3 as i64; 0f3f800000 and 0d3ff0000000000000 by their bits; 1.5 as double. Null: none of these.
llvm::Value* ptx_number(llvm::IRBuilderBase& builder, llvm::StringRef text);

// "{a, b}" of a move: the integer of that many bits that they make up together, the first the lowest.
llvm::Value* join_elements(llvm::IRBuilderBase& builder, llvm::ArrayRef<llvm::Value*> elements, unsigned bits);

// Integers and bits; moves.
PtxResult raise_ptx_integer(PtxInstruction& instruction);
PtxResult raise_ptx_bits(PtxInstruction& instruction);

}  // namespace mneme::codegen::ptx
