// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The host device's table of AMD's inline assembly against LLVM's assembler: the texts whose results the host's test
// checks are instructions of some processor.
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "codegen/host/dialect/amdgpu/gcn/cases.h"

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTarget();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmParser();
void LLVMInitializeAMDGPUAsmPrinter();
}

namespace mneme::codegen {
namespace {

// What the assembler says of it; empty: it has nothing against it.
std::string complaint(const host::GcnCase& one, const std::string& processor) {
  std::string text, arguments;
  for (char c : one.text) text += c == '\n' ? "\\0A" : c == '\t' ? "\\09" : std::string(1, c);
  bool constant = one.constraints.find(",n") != std::string::npos;
  std::string parameters = "ptr addrspace(1) %out";
  for (size_t i = 0; i < one.operands.size(); ++i) {
    std::string name = constant ? std::to_string(one.operands[i].bits) : "%a" + std::to_string(i);
    if (!constant) parameters += ", " + one.operands[i].type + " " + name;
    arguments += (i ? ", " : "") + one.operands[i].type + " " + name;
  }
  std::string ir = "target triple = \"amdgcn-amd-amdhsa\"\ndefine amdgpu_kernel void @k(" + parameters +
                   ") {\n  %r = call " + one.result + " asm sideeffect \"" + text + "\", \"" + one.constraints + "\"(" +
                   arguments + ")\n  store " + one.result + " %r, ptr addrspace(1) %out\n  ret void\n}\n";
  llvm::LLVMContext context;
  std::string said;
  context.setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo* information, void* where) {
        llvm::raw_string_ostream stream(*static_cast<std::string*>(where));
        llvm::DiagnosticPrinterRawOStream printer(stream);
        if (information->getSeverity() == llvm::DS_Error) information->print(printer);
      },
      &said);
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(ir, error, context);
  if (!module) return error.getMessage().str();
  std::string reason;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(module->getTargetTriple(), reason);
  if (!target) return reason;
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(module->getTargetTriple(), processor, "", {}, std::nullopt));
  module->setDataLayout(machine->createDataLayout());
  llvm::legacy::PassManager passes;
  llvm::SmallVector<char, 0> code;
  llvm::raw_svector_ostream out(code);
  machine->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::ObjectFile);
  passes.run(*module);
  return said;
}

TEST(InlineAssembly, CasesOfTheHostAreInstructions) {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTarget();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUAsmParser();
  LLVMInitializeAMDGPUAsmPrinter();
  // Of processors that this LLVM does not know.
  const std::vector<std::string> newer = {"v_cvt_pk_bf16_f32", "v_cvt_pk_f16_f32", "v_dot2c_f32_bf16"};
  for (const host::GcnCase& one : host::gcn_cases()) {
    if (std::any_of(newer.begin(), newer.end(), [&](auto& name) { return one.text.starts_with(name); })) continue;
    std::string said;
    bool assembles = false;
    for (const char* processor : {"gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1200", "gfx900", "gfx803", "tahiti"}) {
      std::string now = complaint(one, processor);
      said += std::string(processor) + ": " + now + "\n";
      if ((assembles = now.empty())) break;
    }
    EXPECT_TRUE(assembles) << one.text << "\n" << said;
  }
}

}  // namespace
}  // namespace mneme::codegen
