// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// fns: the place of the n-th set bit, counted from a place on.
#include "codegen/host/dialect/nvptx/ptx/ptx.h"
#include "codegen/host/math/library.h"

namespace mneme::codegen::host {

PtxResult raise_ptx_nth_set_bit(PtxInstruction& instruction) {
  if (instruction.name.operation() != "fns" || instruction.operands.size() != 3 || instruction.results != 1) {
    return std::nullopt;
  }
  if (!instruction.name.take("b32") || !instruction.name.is_used_up()) return std::nullopt;
  llvm::IRBuilderBase& builder = instruction.builder;
  llvm::Type* word = builder.getInt32Ty();
  PtxValues in;
  for (llvm::Value* operand : instruction.operands) in.push_back(as_type(builder, operand, word));
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  return PtxValues{builder.CreateCall(math_function(module, "find_nth_set", word, {word, word, word}), in)};
}

}  // namespace mneme::codegen::host
