// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/dialect/nvptx/ptx/ptx.h"

#include <utility>

namespace mneme::codegen::host {

using llvm::Value;
using Builder = llvm::IRBuilderBase;

PtxResult raise_ptx(Builder& builder, llvm::StringRef text, llvm::ArrayRef<Value*> operands, unsigned results,
                    Value** carry, llvm::ArrayRef<std::string> parts) {
  // A cache policy is the last operand, whatever the instruction, and nothing here.
  std::string name = text.str();
  constexpr llvm::StringRef kPolicy = ".L2::cache_hint";
  if (size_t at = name.find(kPolicy); at != std::string::npos && !operands.empty()) {
    name.erase(at, kPolicy.size());
    operands = operands.drop_back();
  }
  for (auto* raise : {raise_ptx_float, raise_ptx_comparison, raise_ptx_conversion, raise_ptx_fp8,
                      ptx::raise_ptx_integer, ptx::raise_ptx_bits, raise_ptx_nth_set_bit, raise_ptx_video,
                      raise_ptx_wave, raise_ptx_matrix, raise_ptx_memory, raise_ptx_texture, raise_ptx_control}) {
    PtxInstruction instruction{builder, PtxName(name), {operands.begin(), operands.end()}, results, carry, parts};
    if (PtxResult result = raise(instruction)) return result;
  }
  return std::nullopt;
}

}  // namespace mneme::codegen::host
