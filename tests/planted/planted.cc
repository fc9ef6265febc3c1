// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pass plugin with a mistake for tests to find: the pass `planted`, which the standard pipelines have late among
// their scalar passes, swaps the operands of a subtraction whose result is multiplied.
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>

namespace {

struct PlantedPass : llvm::PassInfoMixin<PlantedPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (instruction.getOpcode() != llvm::Instruction::FSub) continue;
      const bool multiplied = llvm::any_of(instruction.users(), [](const llvm::User* user) {
        return llvm::Operator::getOpcode(user) == llvm::Instruction::FMul;
      });
      if (!multiplied) continue;
      llvm::Value* first = instruction.getOperand(0);
      instruction.setOperand(0, instruction.getOperand(1));
      instruction.setOperand(1, first);
    }
    return llvm::PreservedAnalyses::none();
  }
};

}  // namespace

extern "C" llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "planted", "1", [](llvm::PassBuilder& builder) {
            builder.registerPipelineParsingCallback([](llvm::StringRef name, llvm::FunctionPassManager& passes, auto) {
              if (name == "planted") passes.addPass(PlantedPass());
              return name == "planted";
            });
            builder.registerScalarOptimizerLateEPCallback(
                [](llvm::FunctionPassManager& passes, llvm::OptimizationLevel) { passes.addPass(PlantedPass()); });
          }};
}
