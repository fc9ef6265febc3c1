// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the device library's image functions become: services, with which shape, level and layer. (Programs in
// tests/programs check what they read.)
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include "codegen/host/dialect/amdgpu/raise.h"

namespace mneme::codegen::host {
namespace {

// The services that a function of the library calls, each with its operands behind the handles: numbers, "p2" for what
// comes from the function's third parameter, "p2.1" for an element of it, "level" for what a service gives.
std::string calls_in(const std::string& name, const std::string& parameters) {
  std::string text = "define <4 x float> @" + name + "(ptr addrspace(4) %i, ptr addrspace(4) %s, " + parameters +
                     ") {\n  ret <4 x float> zeroinitializer\n}\n";
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
  if (!module) return error.getMessage().str();
  raise_image_functions(*module);
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  std::string said;
  llvm::raw_string_ostream out(said);
  for (llvm::Instruction& instruction : llvm::instructions(*module->getFunction(name))) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (!call) continue;
    out << call->getCalledFunction()->getName().rsplit('.').second << ":";
    for (const llvm::Use& operand : llvm::drop_begin(call->args(), 2)) {
      if (auto* number = llvm::dyn_cast<llvm::ConstantInt>(operand)) {
        out << " " << number->getZExtValue();
      } else if (llvm::isa<llvm::ConstantFP>(operand)) {
        out << " 0";
      } else if (auto* argument = llvm::dyn_cast<llvm::Argument>(operand)) {
        out << " p" << argument->getArgNo();
      } else if (auto* element = llvm::dyn_cast<llvm::ExtractElementInst>(operand)) {
        auto* index = llvm::cast<llvm::ConstantInt>(element->getIndexOperand());
        out << " p" << llvm::cast<llvm::Argument>(element->getVectorOperand())->getArgNo() << "."
            << index->getZExtValue();
      } else {
        out << " level";
      }
    }
    out << "; ";
  }
  return said;
}

TEST(RaiseImages, SamplesHaveShapeLayerAndLevel) {
  EXPECT_EQ(calls_in("__ockl_image_sample_1D", "float %c"), "image_sample: 1 p2 0 0 0 0; ");
  EXPECT_EQ(calls_in("__ockl_image_sample_2Da", "<4 x float> %c"), "image_sample: 6 p2.0 p2.1 p2.2 p2.2 0; ");
  EXPECT_EQ(calls_in("__ockl_image_sample_1Da", "<2 x float> %c"), "image_sample: 5 p2.0 0 p2.1 p2.1 0; ");
  EXPECT_EQ(calls_in("__ockl_image_sample_lod_2D", "<2 x float> %c, float %l"), "image_sample: 18 p2.0 p2.1 0 0 p3; ");
  EXPECT_EQ(calls_in("__ockl_image_sample_CMa", "<4 x float> %c"), "image_sample: 14 p2.0 p2.1 p2.2 p2.3 0; ");
  EXPECT_EQ(calls_in("__ockl_image_sample_lod_CM", "<4 x float> %c, float %l"),
            "image_sample: 26 p2.0 p2.1 p2.2 p2.3 p3; ");
}

TEST(RaiseImages, SlopesGiveALevel) {
  EXPECT_EQ(calls_in("__ockl_image_sample_grad_2D", "<2 x float> %c, <2 x float> %x, <2 x float> %y"),
            "image_level: 2 p3.0 p3.1 0 p4.0 p4.1 0; image_sample: 18 p2.0 p2.1 0 0 level; ");
  EXPECT_EQ(calls_in("__ockl_image_sample_grad_1Da", "<2 x float> %c, float %x, float %y"),
            "image_level: 5 p3 0 0 p4 0 0; image_sample: 21 p2.0 0 p2.1 p2.1 level; ");
}

}  // namespace
}  // namespace mneme::codegen::host
