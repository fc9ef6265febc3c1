// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/host.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Scalar/LoopDeletion.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

#include "base/error.h"
#include "bundle/launch.h"
#include "codegen/adjust.h"
#include "codegen/host/abi.h"
#include "codegen/host/analysis/store_types.h"
#include "codegen/host/dialect/amdgpu/raise.h"
#include "codegen/host/dialect/kept_registers.h"
#include "codegen/host/dialect/raise.h"
#include "codegen/host/forms/fiber_form.h"
#include "codegen/host/forms/lower.h"
#include "codegen/host/neutral/debug_information.h"
#include "codegen/host/neutral/fixed_launch.h"
#include "codegen/host/neutral/flatten.h"
#include "codegen/host/neutral/indirect_calls.h"
#include "codegen/host/neutral/neutral.h"
#include "codegen/host/neutral/simplify.h"
#include "codegen/host/semantics/any_alignment.h"
#include "codegen/host/semantics/brain_floats.h"
#include "codegen/host/semantics/canonical_nans.h"
#include "codegen/host/semantics/check_memory.h"
#include "codegen/host/semantics/define_locals.h"
#include "codegen/host/semantics/guard_divisions.h"
#include "codegen/host/semantics/guard_shifts.h"
#include "codegen/host/semantics/plain_bools.h"
#include "codegen/host/semantics/wrap_indices.h"
#include "codegen/host/sync/in_step.h"
#include "codegen/host/sync/waits.h"
#include "codegen/host/vectorize/hoist_divisions.h"
#include "codegen/host/vectorize/keep_order.h"
#include "codegen/host/vectorize/split_loops.h"
#include "codegen/host/vectorize/trim_loops.h"
#include "codegen/link.h"
#include "ir/llvm_option.h"
#include "ir/module.h"
#include "ir/optimize.h"

namespace mneme::codegen::host {
namespace {

constexpr char kTriple[] = "x86_64-unknown-linux-gnu";
constexpr size_t kFewLoops = 16;    // over the work-items, in a kernel
constexpr size_t kMostLoops = 200;  // in one whose form nobody chose

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

// Places where work-items meet, of which each would end a loop over them.
size_t count_places(llvm::Module& module) {
  size_t count = 0;
  for (llvm::Function& function : module) {
    for (auto& [call, operation] : operations_in(function)) {
      count += is_block_place(operation) || is_wave_place(operation);
    }
  }
  return count;
}

bool use_fibers(llvm::Module& module, const bundle::KernelInfo& kernel, const std::string& form, size_t places,
                std::vector<std::string>& remarks) {
  if (form != "auto" && form != "loop" && form != "fiber") {
    throw Error::of("kernel '{}': '{}' is not a form: auto, loop or fiber", kernel.demangled, form);
  }
  if (form != "auto") return form == "fiber";
  if (needs_fibers(module, kernel)) return true;
  if (places <= kMostLoops) return false;
  remarks.push_back(
      fmt::format("runs in fibers, since {} loops between the places where its work-items meet would "
                  "take long to compile (--form loop makes them)",
                  places));
  return true;
}

bool meets_grid(llvm::Module& module) {
  return llvm::any_of(module, [](llvm::Function& function) {
    return llvm::any_of(operations_in(function),
                        [](const auto& found) { return found.second.kind == OperationKind::kBarrierGrid; });
  });
}

void set_processor(llvm::Module& module, const llvm::TargetMachine& machine) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    if (!machine.getTargetFeatureString().empty()) {
      function.addFnAttr("target-features", machine.getTargetFeatureString());
    }
    function.addFnAttr("frame-pointer", "none");
    // No page of the stack is passed over, so that using up the stack faults at the page behind it.
    function.addFnAttr("probe-stack", "inline-asm");
    function.setUWTableKind(llvm::UWTableKind::Async);  // for whoever walks the stack
  }
}

// What the host adds to LLVM's standard pipelines.
void extend_pipelines(llvm::PassBuilder& builder) {
  builder.registerVectorizerStartEPCallback([](llvm::FunctionPassManager& passes, llvm::OptimizationLevel) {
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LoopDeletionPass()));  // what peeling left of some
    passes.addPass(TrimLoops());
    passes.addPass(llvm::SimplifyCFGPass());
    passes.addPass(llvm::LoopSimplifyPass());
    passes.addPass(SplitLoops());
    passes.addPass(llvm::SimplifyCFGPass());
    passes.addPass(llvm::LoopSimplifyPass());
    passes.addPass(SinkNanChecks());
    passes.addPass(HoistDivisions());
    passes.addPass(KeepOrder());
  });
  builder.registerPipelineParsingCallback(
      [](llvm::StringRef name, llvm::FunctionPassManager& passes, llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) {
        if (name != KeepOrder::kName) return false;
        passes.addPass(KeepOrder());
        return true;
      });
}

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

// Neutral IR of the kernel, with all that it calls in it, as far as that can be had.
std::unique_ptr<llvm::Module> whole_kernel(llvm::Module& device, const bundle::KernelInfo& kernel,
                                           const bundle::Configuration& configuration,
                                           const llvm::TargetMachine& machine) {
  const bool is_nvptx = llvm::Triple(device.getTargetTriple()).isNVPTX();
  forget_assignments(device);
  raise(device, kernel, configuration.fuse || configuration.contract);
  std::unique_ptr<llvm::Module> module =
      flatten_address_spaces(device, machine.createDataLayout(), kTriple, kernel.demangled);
  lower_indirect_calls(*module, kernel);
  if (configuration.check_memory) keep_null_accesses(*module);
  inline_into_kernel(*module);
  place_kept_registers(*module, kernel);
  define_locals(*module);
  take_bools_as_they_are(*module);
  if (!is_nvptx && !configuration.check_memory) allow_any_alignment(*module);
  return_at_ends(*module, kernel);
  return module;
}

// What the configuration says of the vendor's IR beside the pipeline.
void adjust(llvm::Module& device, const bundle::KernelInfo& info, const bundle::Configuration& configuration,
            const bundle::InstanceInfo* instance) {
  llvm::Function* kernel = device.getFunction(info.name);
  if (!kernel) return;  // refused later
  set_launch_bounds(*kernel, configuration.max_threads, 0);
  if (configuration.specialize_args.empty()) return;
  fix_arguments(*kernel, info, configuration.specialize_args, instance->arguments);
}

}  // namespace

std::vector<bundle::StoreType> stored_types(const bundle::KernelInfo& kernel, std::string_view ir) {
  bundle::Configuration configuration;
  configuration.target = default_target();
  std::unique_ptr<llvm::TargetMachine> machine = make_machine(configuration);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> device = ir::load_module(context, ir, "the IR of kernel '" + kernel.demangled + "'");
  std::unique_ptr<llvm::Module> module = whole_kernel(*device, kernel, configuration, *machine);
  promote_locals(*module);
  return store_types(*module, kernel);
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
               const bundle::InstanceInfo* instance, bool texts) {
  std::unique_ptr<llvm::TargetMachine> machine = make_machine(configuration);
  ir::check_pipeline(configuration.passes, configuration.plugins);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> device = ir::load_module(context, ir, "the IR of kernel '" + kernel.demangled + "'");
  const bool is_nvptx = llvm::Triple(device->getTargetTriple()).isNVPTX();
  std::vector<std::string> replaced = replaced_in(*device);
  adjust(*device, kernel, configuration, instance);
  Traits traits = {};
  traits.most_threads = most_threads(*device, kernel);

  std::unique_ptr<llvm::Module> module = whole_kernel(*device, kernel, configuration, *machine);
  if (configuration.specialize_dims) fix_launch(*module, bundle::launch_size(*instance, configuration));
  if (!configuration.specialize_args.empty()) module->getFunction(kernel.name)->addFnAttr(kFixedArguments);
  if (!configuration.fast_math.empty()) add_fast_math(*module, configuration.fast_math);
  // Ahead of whatever folds what they are about to nothing.
  canonicalize_nans(*module);
  guard_divisions(*module, configuration.check_memory);
  guard_shifts(*module, is_nvptx ? Overshift::kClamps : Overshift::kWraps);
  std::vector<bundle::StoreType> stores;
  if (configuration.passes != "default<O0>") {
    promote_locals(*module);
    sink_nan_checks(*module);
    stores = store_types(*module, kernel);
  } else {
    std::unique_ptr<llvm::Module> promoted = llvm::CloneModule(*module);
    promote_locals(*promoted);
    stores = store_types(*promoted, kernel);
  }
  wrap_indices(*module);
  LanesInStep in_step = keep_lanes_in_step(*module, kernel.name, kernel.wave_size, configuration.form == "fiber");
  traits.wave_dimensions = in_step.dimensions;
  traits.wave_size = kernel.wave_size;
  WaitsFor waits_for = yield_in_waits(*module);
  if (configuration.check_memory) check_memory(*module, kernel.name);
  relax_shared_atomics(*module);
  traits.block_strides = mark_global_ids(*module);
  traits.ordered = depends_on_order(*module) || uses_ordered_services(*module);
  size_t places = count_places(*module);
  bool fibers = use_fibers(*module, kernel, configuration.form, places, in_step.remarks);
  traits.waits = meets_grid(*module) ? kWaitAtGrid : 0;
  if (waits_for == WaitsFor::kGrid) traits.waits |= kWaitByYield;

  if (fibers) lower_places(*module);
  lower_services(*module);
  llvm::DISubprogram* source = subprogram_of(*module, kernel.name);
  llvm::Function& item = make_item(*module, kernel);
  if (source && configuration.passes == "default<O0>") item.addFnAttr(kKeepLocals);
  traits.shared_static = lower_shared_memory(*module, kernel);
  auto globals = lower_device_variables(*module, kernel);
  BlockCode code = fibers ? make_fiber_form(*module, item, kernel.wave_size)
                          : make_loop_form(*module, item, kernel, traits.most_threads);
  make_code_object(*module, code, kernel, traits, globals);
  refuse_other_launches(*module, *code.run_block);
  scope_debug_information(*module, source);
  set_processor(*module, *machine);
  add_attributes(*code.run_block, configuration.attributes);
  if (fibers) add_attributes(item, configuration.attributes);
  ir::verify_module(*module, "what kernel '" + kernel.demangled + "' was lowered to");

  ir::optimize(*module, "always-inline,globaldce", machine.get());
  ir::optimize(*module, with_order_kept(configuration.passes), machine.get(), extend_pipelines,
               {configuration.unroll_threshold, {}, configuration.plugins});
  ir::check_kept(*module, kEntrySymbol, configuration.passes);
  canonicalize_atomics(*module);
  define_brain_float_functions(*module);
  // What profilers and debuggers show.
  if (llvm::Function* block = module->getFunction(kBlockFunction)) block->setName(kernel.name);
  Result result{{}, fibers ? "fiber" : "loop",  std::move(stores),  {},
                {}, std::move(in_step.remarks), std::move(replaced)};
  bound_time(fibers ? 0 : places);
  if (texts) {
    result.ir = ir::print_module(*module);
    result.assembly = emit(*llvm::CloneModule(*module), *machine, llvm::CodeGenFileType::AssemblyFile);
  }
  result.code = link_shared_object(emit(*module, *machine, llvm::CodeGenFileType::ObjectFile), {});
  return result;
}

}  // namespace mneme::codegen::host
