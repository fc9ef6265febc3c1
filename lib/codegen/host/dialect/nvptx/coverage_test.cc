// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every nvvm intrinsic that this LLVM has: raised, or refused by its name; and which are refused.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "codegen/host/dialect/nvptx/raise.h"
#include "codegen/host/dialect/nvptx/run.h"

namespace mneme::codegen::host {
namespace {

// A call with operands that come from memory, or that must be constants.
void call_intrinsic(llvm::IRBuilder<>& builder, llvm::Function& intrinsic, llvm::Value* memory) {
  llvm::SmallVector<llvm::Value*, 8> operands;
  for (llvm::Argument& argument : intrinsic.args()) {
    llvm::Type* type = argument.getType();
    if (type->isMetadataTy()) return;
    bool constant = intrinsic.hasParamAttribute(argument.getArgNo(), llvm::Attribute::ImmArg);
    if (constant) {
      operands.push_back(llvm::ConstantInt::get(type, 1));
    } else {
      operands.push_back(builder.CreateLoad(type, memory));
    }
  }
  builder.CreateCall(&intrinsic, operands);
}

// What raising a kernel with that one intrinsic says; empty: nothing.
std::string raised(llvm::Intrinsic::ID id) {
  llvm::LLVMContext context;
  llvm::Module module("m", context);
  module.setTargetTriple("nvptx64-nvidia-cuda");
  module.setDataLayout("e-i64:64-i128:128-v16:16-v32:32-n16:32:64");
  llvm::Type* pointer = llvm::PointerType::get(context, 0);
  llvm::Function* kernel =
      llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer}, false),
                             llvm::GlobalValue::ExternalLinkage, "k", module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", kernel));
  call_intrinsic(builder, *llvm::Intrinsic::getDeclaration(&module, id), kernel->getArg(0));
  builder.CreateRetVoid();
  try {
    raise_nvptx(module, nvptx_kernel(1), false);
  } catch (const Error& error) {
    return error.what();
  }
  std::string trouble;
  llvm::raw_string_ostream stream(trouble);
  return llvm::verifyModule(module, &stream) ? "not valid: " + trouble : "";
}

// Of textures: those with samplers of their own, and whole numbers for other coordinates than texels'.
bool is_refused_texture(llvm::StringRef name) {
  if (name.starts_with("tex.") && name.ends_with(".s32")) {
    return name.contains(".array.") || name.contains(".level.") || name.contains(".grad.") ||
           !name.starts_with("tex.unified.");
  }
  return (name.starts_with("tex.") || name.starts_with("tld4.")) && !name.contains(".unified.");
}

// What spans blocks, and of surfaces what depends on their format.
bool is_refused(llvm::StringRef name) {
  for (llvm::StringRef prefix : {"sust.p.", "suq.channel.", "txq.channel.", "txq.num.samples", "istypep.", "texsurf.",
                                 "cp.async.bulk.", "compiler."}) {
    if (name.starts_with(prefix)) return true;
  }
  if (is_refused_texture(name)) return true;
  // Neither is an instruction.
  return name == "ex2.approx.d" || name == "lg2.approx.d";
}

TEST(NvptxCoverage, EveryIntrinsicIsRaisedOrNamed) {
  int known = 0, refused = 0;
  for (unsigned id = 1; id < llvm::Intrinsic::num_intrinsics; ++id) {
    auto intrinsic = static_cast<llvm::Intrinsic::ID>(id);
    llvm::StringRef name = llvm::Intrinsic::getBaseName(intrinsic);
    // Those of several types are in tests of their own.
    if (!name.consume_front("llvm.nvvm.") || llvm::Intrinsic::isOverloaded(intrinsic)) continue;
    std::string said = raised(intrinsic);
    if (is_refused(name)) {
      ++refused;
      EXPECT_NE(said.find("llvm.nvvm." + name.str() + ", which the host device does not have"), std::string::npos)
          << name.str() << ": " << said;
    } else {
      ++known;
      EXPECT_EQ(said, "") << name.str();
    }
  }
  RecordProperty("raised", known);
  RecordProperty("refused", refused);
  EXPECT_GT(known, 500);
}

}  // namespace
}  // namespace mneme::codegen::host
