// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instructions of PTX on LLVM's values. The intrinsics of LLVM's NVPTX dialect and CUDA's inline assembly both come
// here, the former by way of the instruction's name that each stands for. What each does is what the PTX ISA says; a
// part of a name that nobody has asked for is one that would make it another instruction: such a name is not known.
#pragma once
#include "codegen/ptx/instruction.h"

namespace mneme::codegen::host {

using ptx::as_type;
using ptx::by_elements;
using ptx::PtxInstruction;
using ptx::PtxName;
using ptx::PtxResult;
using ptx::PtxType;
using ptx::PtxValues;

// The groups besides those of codegen/ptx, each in a file of its own.
PtxResult raise_ptx_float(PtxInstruction& instruction);
PtxResult raise_ptx_comparison(PtxInstruction& instruction);
PtxResult raise_ptx_conversion(PtxInstruction& instruction);
PtxResult raise_ptx_fp8(PtxInstruction& instruction);
PtxResult raise_ptx_nth_set_bit(PtxInstruction& instruction);
PtxResult raise_ptx_video(PtxInstruction& instruction);
PtxResult raise_ptx_wave(PtxInstruction& instruction);
PtxResult raise_ptx_matrix(PtxInstruction& instruction);
PtxResult raise_ptx_memory(PtxInstruction& instruction);
PtxResult raise_ptx_texture(PtxInstruction& instruction);
PtxResult raise_ptx_control(PtxInstruction& instruction);
// All of them.
PtxResult raise_ptx(llvm::IRBuilderBase& builder, llvm::StringRef name, llvm::ArrayRef<llvm::Value*> operands,
                    unsigned results = 1, llvm::Value** carry = nullptr, llvm::ArrayRef<std::string> parts = {});

// "%tid.x", without the sign; null: no such register.
llvm::Value* ptx_register(llvm::IRBuilderBase& builder, llvm::StringRef name);

}  // namespace mneme::codegen::host
