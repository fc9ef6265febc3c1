// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/nvptx/nvptx.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Operator.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "base/error.h"
#include "codegen/gpu_module.h"
#include "codegen/nvptx/left_to_assembler.h"
#include "codegen/nvptx/looked_up_functions.h"
#include "codegen/nvptx/numbered_functions.h"
#include "ir/address_variable.h"
#include "ir/llvm_option.h"
#include "ir/module.h"
#include "ir/optimize.h"
#include "ir/pass_gate.h"

namespace mneme::codegen::nvptx {
namespace {

constexpr char kTriple[] = "nvptx64-nvidia-cuda";

const llvm::Target& back_end() {
  static const bool initialised = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    ir::set_llvm_option("enable-memcpyopt-without-libcalls");  // clang's driver passes that for CUDA with -mllvm
    return true;
  }();
  (void)initialised;
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(kTriple, error);
  if (!target) throw Error::of(Exit::kMissing, "this LLVM has no back end for NVIDIA's GPUs: {}", error);
  return *target;
}

// "+ptx85" of the compiler that made the IR: it may use what older versions of PTX lack.
std::string ptx_version(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    llvm::SmallVector<llvm::StringRef> features;
    function.getFnAttribute("target-features").getValueAsString().split(features, ',');
    for (llvm::StringRef feature : features) {
      if (feature.starts_with("+ptx")) return feature.str();
    }
  }
  return {};
}

// What clang sets for the whole translation unit (-ffp-contract) is told by its instructions: multiply-adds are fused
// across statements where they carry the flag, else only where the front end said so.
llvm::FPOpFusion::FPOpFusionMode fusion(const llvm::Module& module, bool asked) {
  if (asked) return llvm::FPOpFusion::Fast;
  for (const llvm::Function& function : module) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      const auto* operation = llvm::dyn_cast<llvm::FPMathOperator>(&instruction);
      if (operation && operation->hasAllowContract()) return llvm::FPOpFusion::Fast;
    }
  }
  return llvm::FPOpFusion::Standard;
}

std::unique_ptr<llvm::TargetMachine> make_machine(const llvm::Module& module,
                                                  const bundle::Configuration& configuration) {
  std::string processor = configuration.target.substr(sizeof "cuda:" - 1);
  if (!is_processor(processor)) throw Error::of("'{}' is not an NVIDIA GPU that this LLVM knows", processor);
  std::optional<llvm::CodeGenOptLevel> level = llvm::CodeGenOpt::getLevel(configuration.codegen_opt);
  if (!level) throw Error::of("the code generation level {} is not one of 0, 1, 2, 3", configuration.codegen_opt);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = fusion(module, configuration.fuse);
  // The last of each holds.
  std::string features = ptx_version(module);
  if (!configuration.features.empty()) features += (features.empty() ? "" : ",") + configuration.features;
  return std::unique_ptr<llvm::TargetMachine>(
      back_end().createTargetMachine(kTriple, processor, features, options, llvm::Reloc::PIC_, std::nullopt, *level));
}

// ptxas optimises no code that has information for debuggers. As in what clang itself has optimised, only the source's
// lines stay.
void keep_lines_only(llvm::Module& module) {
  llvm::DebugInfoFinder finder;
  finder.processModule(module);
  llvm::NamedMDNode* units = module.getNamedMetadata("llvm.dbg.cu");
  for (unsigned i = 0; units && i < units->getNumOperands(); ++i) {
    auto* unit = llvm::cast<llvm::DICompileUnit>(units->getOperand(i));
    if (unit->getEmissionKind() == llvm::DICompileUnit::DebugDirectivesOnly) continue;
    auto* lines = llvm::DICompileUnit::getDistinct(
        module.getContext(), unit->getSourceLanguage(), unit->getFile(), unit->getProducer(), true, unit->getFlags(),
        unit->getRuntimeVersion(), unit->getSplitDebugFilename(), llvm::DICompileUnit::DebugDirectivesOnly, nullptr,
        nullptr, nullptr, nullptr, nullptr, 0, unit->getSplitDebugInlining(), unit->getDebugInfoForProfiling(),
        unit->getNameTableKind(), unit->getRangesBaseAddress(), unit->getSysRoot(), unit->getSDK());
    for (llvm::DISubprogram* subprogram : finder.subprograms()) {
      if (subprogram->getUnit() == unit) subprogram->replaceUnit(lines);
    }
    units->setOperand(i, lines);
  }
}

std::string emit_ptx(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::SmallVector<char, 0> buffer;
  llvm::raw_svector_ostream stream(buffer);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile)) {
    throw Error("LLVM cannot emit PTX");
  }
  passes.run(module);
  return std::string(buffer.data(), buffer.size());
}

}  // namespace

bool is_processor(const std::string& name) {
  if (!name.starts_with("sm_")) return false;
  std::unique_ptr<llvm::MCSubtargetInfo> known(back_end().createMCSubtargetInfo(kTriple, "", ""));
  return known && known->isCPUStringValid(name);
}

Result compile(const bundle::KernelInfo& info, std::string_view ir, const bundle::Configuration& configuration,
               const bundle::InstanceInfo* instance, bool texts) {
  refuse_host_options(info, configuration);
  ir::check_pipeline(configuration.passes, configuration.plugins);
  ir::PassGate gate(configuration.opt_bisect);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = ir::load_module(context, ir, "the IR of kernel '" + info.demangled + "'");
  if (!llvm::StringRef(module->getTargetTriple()).starts_with("nvptx64")) {
    throw Error::of("kernel '{}' was compiled for {}, not for NVIDIA's GPUs: there is no code for {}", info.demangled,
                    module->getTargetTriple(), configuration.target);
  }
  if (!module->getFunction(info.name)) {
    throw Error::of("the IR of kernel '{}' has no function '{}'", info.demangled, info.name);
  }
  std::unique_ptr<llvm::TargetMachine> machine = make_machine(*module, configuration);
  module->setDataLayout(machine->createDataLayout());
  allow_optimisation(*module, info);
  adjust(*module, info, configuration, instance);
  ir::optimize(*module, configuration.passes, machine.get(), {},
               {configuration.unroll_threshold, configuration.inline_threshold, configuration.plugins, true, &gate});
  ir::check_kept(*module, info.name, configuration.passes);
  if (!info.lifted.empty()) leave_fusing_to_assembler(*module);
  if (configuration.ptxas_level > 0) keep_lines_only(*module);
  ir::expose_constants(*module, info);
  if (has_to_look_up(info, configuration.assembler)) {
    look_up_functions(*module, info);
  } else {
    number_functions(*module, info);
  }
  Result result;
  if (texts) result.ir = ir::print_module(*module);
  gate.begin_code();
  result.ptx = emit_ptx(*module, *machine);
  result.passes = gate.passes();
  return result;
}

}  // namespace mneme::codegen::nvptx
