// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/host.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "base/error.h"
#include "codegen/host/abi.h"
#include "codegen/host/dialect/amdgpu/raise.h"
#include "codegen/host/machine.h"
#include "codegen/host/neutral/neutral.h"
#include "codegen/host/neutral/simplify.h"
#include "codegen/host/pipeline.h"
#include "codegen/link.h"
#include "ir/llvm_option.h"
#include "ir/module.h"
#include "ir/optimize.h"
#include "ir/pass_gate.h"
#include "ir/store_types.h"

namespace mneme::codegen::host {
namespace {

constexpr size_t kFewLoops = 16;  // over the work-items, in a kernel

// Passes whose time grows with the square of a function's size; of many loops, each of which is little of the whole,
// reducing strength takes the longest.
void bound_time(size_t loops) {
  ir::set_llvm_option("disable-x86-domain-reassignment");
  ir::set_llvm_option("cgpp-huge-func", "1");
  ir::set_llvm_option("disable-lsr", loops > kFewLoops ? "true" : "false");
}

std::string emit(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType what) {
  llvm::SmallVector<char, 0> buffer;
  llvm::raw_svector_ostream stream(buffer);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, what)) {
    throw Error("LLVM cannot emit object code for the host");
  }
  passes.run(module);
  return std::string(buffer.data(), buffer.size());
}

}  // namespace

std::vector<bundle::StoreType> stored_types(const bundle::KernelInfo& kernel, std::string_view ir) {
  bundle::Configuration configuration;
  configuration.target = default_target();
  std::unique_ptr<llvm::TargetMachine> machine = make_machine(configuration);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> device = ir::load_module(context, ir, "the IR of kernel '" + kernel.demangled + "'");
  Compilation compilation(kernel, configuration, nullptr, *machine, std::move(device));
  run_passes(compilation, passes(), "ends");
  promote_locals(*compilation.module);
  return ir::store_types(*compilation.module, kernel, is_blocks_own);
}

namespace {

std::vector<std::string> replaced_in(const llvm::Module& device) {
  if (!llvm::Triple(device.getTargetTriple()).isAMDGPU()) return {};
  return replaced_functions(device);
}

}  // namespace

std::vector<std::string> replaced_functions(const bundle::KernelInfo& kernel, std::string_view ir) {
  llvm::LLVMContext context;
  return replaced_in(*ir::load_module(context, ir, "the IR of kernel '" + kernel.demangled + "'"));
}

Result compile(const bundle::KernelInfo& kernel, std::string_view ir, const bundle::Configuration& configuration,
               const bundle::InstanceInfo* instance, const Wishes& wishes) {
  std::unique_ptr<llvm::TargetMachine> machine = make_machine(configuration);
  ir::check_pipeline(configuration.passes, configuration.plugins);
  ir::PassGate gate(configuration.opt_bisect);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> device = ir::load_module(context, ir, "the IR of kernel '" + kernel.demangled + "'");
  std::vector<std::string> replaced = replaced_in(*device);

  Compilation compilation(kernel, configuration, instance, *machine, std::move(device));
  compilation.gate = &gate;
  compilation.print_after.insert(wishes.print_after.begin(), wishes.print_after.end());
  run_passes(compilation, passes());
  const llvm::Module& module = *compilation.module;

  Result result{{},
                compilation.fibers ? "fiber" : "loop",
                std::move(compilation.stores),
                {},
                {},
                std::move(compilation.remarks),
                std::move(replaced)};
  bound_time(compilation.fibers ? 0 : compilation.collectives);
  if (wishes.texts) {
    result.ir = ir::print_module(module);
    gate.begin_code();
    result.assembly = emit(*llvm::CloneModule(module), *machine, llvm::CodeGenFileType::AssemblyFile);
  }
  gate.begin_code();
  result.code = link_shared_object(emit(*compilation.module, *machine, llvm::CodeGenFileType::ObjectFile), {});
  result.remarks.insert(result.remarks.end(), gate.passes().begin(), gate.passes().end());
  return result;
}

}  // namespace mneme::codegen::host
