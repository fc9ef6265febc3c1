// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/amdgpu/amdgpu.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "base/error.h"
#include "codegen/amdgpu/complaints.h"
#include "codegen/amdgpu/metadata.h"
#include "codegen/amdgpu/replace.h"
#include "codegen/amdgpu/retarget.h"
#include "codegen/gpu_module.h"
#include "codegen/link.h"
#include "ir/address_variable.h"
#include "ir/llvm_option.h"
#include "ir/module.h"
#include "ir/optimize.h"
#include "ir/pass_gate.h"
#include "objects/embedded.h"

namespace mneme::codegen::amdgpu {
namespace {

constexpr char kTriple[] = "amdgcn-amd-amdhsa";

const llvm::Target& back_end() {
  static const bool initialised = [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmParser();  // of assembly in kernels
    LLVMInitializeAMDGPUAsmPrinter();
    return true;
  }();
  (void)initialised;
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(kTriple, error);
  if (!target) throw Error::of(Exit::kMissing, "this LLVM has no back end for AMD's GPUs: {}", error);
  return *target;
}

std::unique_ptr<llvm::TargetMachine> make_machine(const Goal& goal, const bundle::Configuration& configuration) {
  std::optional<llvm::CodeGenOptLevel> level = llvm::CodeGenOpt::getLevel(configuration.codegen_opt);
  if (!level) throw Error::of("the code generation level {} is not one of 0, 1, 2, 3", configuration.codegen_opt);
  llvm::TargetOptions options;
  // Where clang fuses for HIP, the operations carry the flag: it leaves the device libraries' as they are.
  options.AllowFPOpFusion = configuration.fuse ? llvm::FPOpFusion::Fast : llvm::FPOpFusion::Standard;
  options.MCOptions.AsmVerbose = true;
  return std::unique_ptr<llvm::TargetMachine>(back_end().createTargetMachine(
      kTriple, goal.target.processor, goal.features, options, llvm::Reloc::PIC_, std::nullopt, *level));
}

std::string emit(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> buffer;
  llvm::raw_svector_ostream stream(buffer);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type)) throw Error("LLVM cannot emit code for AMD's GPUs");
  passes.run(module);
  return std::string(buffer.data(), buffer.size());
}

// As mneme-inject embeds it.
std::string with_ir(const std::string& code_object, bundle::KernelInfo info, const std::string& bitcode) {
  info.id = info.bitcode = digest_of(bytes_of(bitcode));
  return objects::with_section(bytes_of(code_object), objects::kEmbeddedSection,
                               objects::write_embedded(bundle::write(info), bytes_of(bitcode)),
                               "the linked code object");
}

}  // namespace

// As clang's driver has it linked.
std::string link(const std::string& object) {
  return link_shared_object(object, {"-m", "elf64_amdgpu", "--no-undefined", "--hash-style=both"});
}

Result compile(const bundle::KernelInfo& info, std::string_view ir, const bundle::Configuration& configuration,
               const bundle::InstanceInfo* instance, bool texts, bool embed) {
  refuse_host_options(info, configuration);
  std::optional<TargetId> target = parse_target_id(std::string_view(configuration.target).substr(sizeof "hip:" - 1));
  if (!target) throw Error::of("'{}' is not an AMD GPU that this version has code for", configuration.target);
  ir::set_llvm_option("amdgpu-internalize-symbols");  // clang's driver passes that for HIP with -mllvm
  ir::check_pipeline(configuration.passes, configuration.plugins);
  ir::PassGate gate(configuration.opt_bisect);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = ir::load_module(context, ir, "the IR of kernel '" + info.demangled + "'");
  if (!llvm::StringRef(module->getTargetTriple()).starts_with("amdgcn")) {
    throw Error::of("kernel '{}' was compiled for {}, not for AMD's GPUs: there is no code for {}", info.demangled,
                    module->getTargetTriple(), configuration.target);
  }
  if (!module->getFunction(info.name)) {
    throw Error::of("the IR of kernel '{}' has no function '{}'", info.demangled, info.name);
  }
  const Goal goal = goal_of(*module, info, configuration, *target);
  std::unique_ptr<llvm::TargetMachine> machine = make_machine(goal, configuration);
  module->setDataLayout(machine->createDataLayout());
  // What is marked is left alone by the back end, too.
  if (configuration.passes != "default<O0>") allow_optimisation(*module, info);
  retarget(*module, info, goal);
  replace_lacking(*module, *target, *machine->getMCSubtargetInfo());
  adjust(*module, info, configuration, instance);
  const std::string source = embed ? ir::write_bitcode(*module) : std::string();
  Result result;
  std::string object;
  try {
    with_complaints(context, [&] {
      ir::optimize(
          *module, configuration.passes, machine.get(), {},
          {configuration.unroll_threshold, configuration.inline_threshold, configuration.plugins, true, &gate});
    });
    ir::check_kept(*module, info.name, configuration.passes);
    refuse_foreign_operations(*module, info, goal, *machine->getMCSubtargetInfo());
    // The recorded memory may point to them.
    ir::expose_addresses(*module, info);
    if (texts) {
      result.ir = ir::print_module(*module);
      std::unique_ptr<llvm::Module> copy = llvm::CloneModule(*module);
      gate.begin_code();
      with_complaints(context, [&] { result.assembly = emit(*copy, *machine, llvm::CodeGenFileType::AssemblyFile); });
    }
    gate.begin_code();
    with_complaints(context, [&] { object = emit(*module, *machine, llvm::CodeGenFileType::ObjectFile); });
    result.passes = gate.passes();
    result.code_object = link(object);
  } catch (const Complaint& complaint) {
    throw Error::of("kernel '{}' cannot be compiled for {}: {}", info.demangled, configuration.target,
                    complaint.what());
  }
  result.resources =
      resources_in_code_object(bytes_of(result.code_object), info.name, *target, "the linked code object");
  if (uint32_t waves = result.resources.amd->wave_size; waves != goal.wave_size) {
    throw Error::of("kernel '{}' was to have waves of {} threads for {}, and LLVM made waves of {}", info.demangled,
                    goal.wave_size, configuration.target, waves);
  }
  if (embed) result.code_object = with_ir(result.code_object, info, source);
  return result;
}

}  // namespace mneme::codegen::amdgpu
