// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/machine.h"

#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>

#include "base/error.h"
#include "codegen/host/host.h"

namespace mneme::codegen::host {
namespace {

constexpr char kTriple[] = "x86_64-unknown-linux-gnu";

std::string processor_of(const std::string& target) {
  check_target(target);
  return target.substr(sizeof "host:" - 1);
}

}  // namespace

std::unique_ptr<llvm::TargetMachine> make_machine(const bundle::Configuration& configuration) {
  static const bool initialised = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    return true;
  }();
  (void)initialised;
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(kTriple, error);
  if (!target) throw Error::of(Exit::kMissing, "this LLVM has no x86-64 back end: {}", error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = configuration.fuse       ? llvm::FPOpFusion::Fast
                            : configuration.contract ? llvm::FPOpFusion::Standard
                                                     : llvm::FPOpFusion::Strict;
  if (configuration.codegen_opt < 0 || configuration.codegen_opt > 3) {
    throw Error::of("the code generation level {} is not one of 0, 1, 2, 3", configuration.codegen_opt);
  }
  std::string processor = processor_of(configuration.target);
  if (!configuration.cpu.empty()) processor = configuration.cpu;
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(kTriple, processor, configuration.features, options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, *llvm::CodeGenOpt::getLevel(configuration.codegen_opt)));
  return machine;
}

}  // namespace mneme::codegen::host
