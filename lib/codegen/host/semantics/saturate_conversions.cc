// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/semantics/saturate_conversions.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include <vector>

namespace mneme::codegen::host {
namespace {

// The type that the GPU's instruction gives; the scalars' is what counts of vectors.
llvm::Type* converted_type(const llvm::CastInst& conversion) {
  llvm::Type *type = conversion.getType(), *from = conversion.getSrcTy()->getScalarType();
  unsigned bits = type->getScalarSizeInBits();
  return bits >= 32 || (bits == 16 && from->isHalfTy()) ? type : type->getWithNewBitWidth(32);
}

}  // namespace

void saturate_conversions(llvm::Module& module) {
  std::vector<llvm::CastInst*> conversions;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      bool converts = llvm::isa<llvm::FPToSIInst, llvm::FPToUIInst>(instruction);
      if (converts && instruction.getType()->getScalarSizeInBits() <= 64)
        conversions.push_back(llvm::cast<llvm::CastInst>(&instruction));
    }
  }
  for (llvm::CastInst* conversion : conversions) {
    llvm::IRBuilder<> builder(conversion);
    bool is_signed = llvm::isa<llvm::FPToSIInst>(conversion);
    llvm::Value* from = conversion->getOperand(0);
    llvm::Type* type = converted_type(*conversion);
    llvm::Value* result = builder.CreateIntrinsic(is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat,
                                                  {type, from->getType()}, {from});
    conversion->replaceAllUsesWith(builder.CreateTrunc(result, conversion->getType()));
    conversion->eraseFromParent();
  }
}

}  // namespace mneme::codegen::host
