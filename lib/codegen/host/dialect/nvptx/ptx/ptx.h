// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instructions of PTX on LLVM's values. The intrinsics of LLVM's NVPTX dialect and CUDA's inline assembly both come
// here, the former by way of the instruction's name that each stands for. What each does is what the PTX ISA says; a
// part of a name that nobody has asked for is one that would make it another instruction: such a name is not known.
#pragma once
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>

#include <initializer_list>
#include <optional>

#include "codegen/host/dialect/as_type.h"

namespace mneme::codegen::host {

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
  unsigned results = 1;           // that are asked for: 2 for "r|p"
  llvm::Value** carry = nullptr;  // the flag of add.cc and its like, in assembly
};

// A value in a register, seen as a type; a narrower integer is extended as that type says.
llvm::Value* as_type(llvm::IRBuilderBase& builder, llvm::Value* value, const PtxType& type);

// An operation on each element.
llvm::Value* by_elements(llvm::IRBuilderBase& builder, const PtxType& type, llvm::ArrayRef<llvm::Value*> operands,
                         llvm::function_ref<llvm::Value*(llvm::ArrayRef<llvm::Value*>)> operation);

// The groups, each in a file of its own.
PtxResult raise_ptx_float(PtxInstruction& instruction);
PtxResult raise_ptx_comparison(PtxInstruction& instruction);
PtxResult raise_ptx_conversion(PtxInstruction& instruction);
PtxResult raise_ptx_fp8(PtxInstruction& instruction);
PtxResult raise_ptx_integer(PtxInstruction& instruction);
PtxResult raise_ptx_bits(PtxInstruction& instruction);
PtxResult raise_ptx_video(PtxInstruction& instruction);
PtxResult raise_ptx_wave(PtxInstruction& instruction);
PtxResult raise_ptx_matrix(PtxInstruction& instruction);
PtxResult raise_ptx_memory(PtxInstruction& instruction);
PtxResult raise_ptx_texture(PtxInstruction& instruction);
PtxResult raise_ptx_control(PtxInstruction& instruction);
// All of them.
PtxResult raise_ptx(llvm::IRBuilderBase& builder, llvm::StringRef name, llvm::ArrayRef<llvm::Value*> operands,
                    unsigned results = 1, llvm::Value** carry = nullptr);

// "%tid.x", without the sign; null: no such register.
llvm::Value* ptx_register(llvm::IRBuilderBase& builder, llvm::StringRef name);

}  // namespace mneme::codegen::host
