// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/nvptx/left_to_assembler.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Operator.h>

#include <string>

namespace mneme::codegen::nvptx {
namespace {

bool may_only_be_fused(const llvm::BinaryOperator& operation) {
  unsigned opcode = operation.getOpcode();
  bool one_of =
      opcode == llvm::Instruction::FAdd || opcode == llvm::Instruction::FSub || opcode == llvm::Instruction::FMul;
  llvm::Type* type = operation.getType()->getScalarType();
  if (!one_of || !(type->isFloatTy() || type->isDoubleTy())) return false;
  llvm::FastMathFlags flags = operation.getFastMathFlags();
  if (!flags.allowContract()) return false;
  flags.setAllowContract(false);
  return flags.none();  // else somebody asks for more, which LLVM knows to do
}

llvm::Value* as_written(llvm::IRBuilderBase& builder, unsigned opcode, bool flushes, llvm::Value* a, llvm::Value* b) {
  bool single = a->getType()->isFloatTy();
  std::string text = opcode == llvm::Instruction::FAdd ? "add" : opcode == llvm::Instruction::FSub ? "sub" : "mul";
  text += std::string(single && flushes ? ".ftz" : "") + (single ? ".f32" : ".f64") + " $0, $1, $2;";
  auto* type = llvm::FunctionType::get(a->getType(), {a->getType(), a->getType()}, false);
  auto* assembly = llvm::InlineAsm::get(type, text, single ? "=f,f,f" : "=d,d,d", false);
  llvm::CallInst* call = builder.CreateCall(assembly, {a, b});
  call->setDoesNotAccessMemory();
  return call;
}

}  // namespace

void leave_fusing_to_assembler(llvm::Module& module) {
  for (llvm::Function& function : module) {
    bool flushes = function.getDenormalMode(llvm::APFloat::IEEEsingle()).Output == llvm::DenormalMode::PreserveSign;
    llvm::SmallVector<llvm::BinaryOperator*, 32> found;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(&instruction);
      if (operation && may_only_be_fused(*operation)) found.push_back(operation);
    }
    for (llvm::BinaryOperator* operation : found) {
      llvm::IRBuilder<> builder(operation);
      llvm::Value *a = operation->getOperand(0), *b = operation->getOperand(1), *made = nullptr;
      if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(operation->getType())) {
        made = llvm::PoisonValue::get(vector);
        for (unsigned i = 0; i < vector->getNumElements(); ++i) {
          llvm::Value* element = as_written(builder, operation->getOpcode(), flushes,
                                            builder.CreateExtractElement(a, i), builder.CreateExtractElement(b, i));
          made = builder.CreateInsertElement(made, element, i);
        }
      } else {
        made = as_written(builder, operation->getOpcode(), flushes, a, b);
      }
      operation->replaceAllUsesWith(made);
      operation->eraseFromParent();
    }
  }
}

}  // namespace mneme::codegen::nvptx
