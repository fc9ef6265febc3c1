// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>

#include <optional>
#include <string>

namespace mneme::codegen::host {

// The PTX instruction that an intrinsic on textures or surfaces stands for.
struct TextureInstruction {
  std::string name;
  llvm::SmallVector<unsigned, 12> operands;  // of the intrinsic's, in the instruction's order: some stand there twice
  unsigned results = 0;
  unsigned taken = 1;  // of the intrinsic's operands
};

// "tex.unified.1d.v4f32.s32" ("llvm.nvvm." before it). nullopt: it is none, or none that the host device has.
std::optional<TextureInstruction> texture_instruction_of(llvm::StringRef intrinsic);

}  // namespace mneme::codegen::host
