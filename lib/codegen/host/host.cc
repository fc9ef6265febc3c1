// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/host.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

#include "base/error.h"
#include "codegen/host/flatten.h"
#include "codegen/host/hoist_divisions.h"
#include "codegen/host/lower.h"
#include "codegen/host/neutral.h"
#include "codegen/host/raise_amdgpu.h"
#include "codegen/host/simplify.h"
#include "codegen/host/trim_loops.h"
#include "codegen/link.h"
#include "ir/module.h"
#include "ir/optimize.h"

namespace mneme::codegen::host {
namespace {

constexpr char kTriple[] = "x86_64-unknown-linux-gnu";

std::string processor_of(const std::string& target) {
  check_target(target);
  return target.substr(sizeof "host:" - 1);
}

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
  options.AllowFPOpFusion = configuration.fuse ? llvm::FPOpFusion::Fast : llvm::FPOpFusion::Strict;
  if (configuration.codegen_opt < 0 || configuration.codegen_opt > 3) {
    throw Error::of("the code generation level {} is not one of 0, 1, 2, 3", configuration.codegen_opt);
  }
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(kTriple, processor_of(configuration.target), "", options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, *llvm::CodeGenOpt::getLevel(configuration.codegen_opt)));
  return machine;
}

bool use_coroutines(const bundle::KernelInfo& kernel, const std::string& form) {
  if (form != "auto" && form != "loop" && form != "coroutine") {
    throw Error::of("kernel '{}': '{}' is not a form: auto, loop or coroutine", kernel.demangled, form);
  }
  return form == "coroutine";
}

void set_processor(llvm::Module& module, const llvm::TargetMachine& machine) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("frame-pointer", "none");
  }
}

// What the host adds to LLVM's standard pipelines.
void extend_pipelines(llvm::PassBuilder& builder) {
  builder.registerVectorizerStartEPCallback([](llvm::FunctionPassManager& passes, llvm::OptimizationLevel) {
    passes.addPass(TrimLoops());
    passes.addPass(llvm::SimplifyCFGPass());
    passes.addPass(llvm::LoopSimplifyPass());
    passes.addPass(HoistDivisions());
  });
}

// A pipeline of the user's own need not contain the passes that make coroutines into functions.
void finish_coroutines(llvm::Module& module, llvm::TargetMachine& machine) {
  for (llvm::Function& function : module) {
    if (function.isPresplitCoroutine()) {
      ir::optimize(module, "cgscc(coro-split)", &machine);
      break;
    }
  }
  ir::optimize(module, "coro-cleanup,globaldce", &machine);
}

std::string emit_object(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::SmallVector<char, 0> buffer;
  llvm::raw_svector_ostream stream(buffer);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile)) {
    throw Error("LLVM cannot emit object code for the host");
  }
  passes.run(module);
  return std::string(buffer.data(), buffer.size());
}

}  // namespace

Result compile(const bundle::KernelInfo& kernel, std::string_view ir, const bundle::Configuration& configuration) {
  std::unique_ptr<llvm::TargetMachine> machine = make_machine(configuration);
  ir::check_pipeline(configuration.passes);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> device = ir::load_module(context, ir, "the IR of kernel '" + kernel.demangled + "'");

  raise_amdgpu(*device, kernel, configuration.fuse);
  std::unique_ptr<llvm::Module> module =
      flatten_address_spaces(*device, machine->createDataLayout(), kTriple, kernel.demangled);
  inline_into_kernel(*module);
  if (configuration.passes != "default<O0>") promote_locals(*module);
  relax_shared_atomics(*module);
  mark_global_ids(*module);
  bool ordered = depends_on_order(*module);
  bool coroutine = use_coroutines(kernel, configuration.form);

  lower_services(*module);
  llvm::Function& item = make_item(*module, kernel);
  uint64_t shared_static = lower_shared_memory(*module, kernel);
  auto globals = lower_device_variables(*module, kernel);
  BlockCode code = coroutine ? make_coroutine_form(*module, item) : make_loop_form(*module, item);
  make_code_object(*module, code, kernel, ordered, shared_static, globals);
  set_processor(*module, *machine);
  ir::verify_module(*module, "what kernel '" + kernel.demangled + "' was lowered to");

  ir::optimize(*module, coroutine ? "always-inline,coro-early" : "always-inline,globaldce", machine.get());
  ir::optimize(*module, configuration.passes, machine.get(), extend_pipelines);
  if (coroutine) finish_coroutines(*module, *machine);
  return {link_shared_object(emit_object(*module, *machine), {}), coroutine ? "coroutine" : "loop"};
}

}  // namespace mneme::codegen::host
