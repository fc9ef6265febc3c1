// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/pipeline.h"

#include <llvm/Transforms/Scalar/LoopDeletion.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

#include <cstdlib>

#include "base/error.h"
#include "bundle/launch.h"
#include "codegen/adjust.h"
#include "codegen/host/abi.h"
#include "codegen/host/checks/check_numbers.h"
#include "codegen/host/checks/checks.h"
#include "codegen/host/checks/initialisation.h"
#include "codegen/host/checks/shadow_locals.h"
#include "codegen/host/checks/synchronisation.h"
#include "codegen/host/dialect/kept_registers.h"
#include "codegen/host/dialect/raise.h"
#include "codegen/host/forms/fiber_form.h"
#include "codegen/host/host.h"
#include "codegen/host/invariants.h"
#include "codegen/host/math/algebra.h"
#include "codegen/host/neutral/algebra_mark.h"
#include "codegen/host/neutral/debug_information.h"
#include "codegen/host/neutral/fixed_launch.h"
#include "codegen/host/neutral/flatten.h"
#include "codegen/host/neutral/indirect_calls.h"
#include "codegen/host/neutral/neutral.h"
#include "codegen/host/neutral/simplify.h"
#include "codegen/host/neutral/split_barriers.h"
#include "codegen/host/semantics/any_alignment.h"
#include "codegen/host/semantics/brain_floats.h"
#include "codegen/host/semantics/canonical_nans.h"
#include "codegen/host/semantics/check_memory.h"
#include "codegen/host/semantics/define_locals.h"
#include "codegen/host/semantics/dynamic_locals.h"
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
#include "ir/module.h"
#include "ir/optimize.h"
#include "ir/store_types.h"

namespace mneme::codegen::host {
namespace {

constexpr size_t kMostLoops = 200;    // over the work-items, in a kernel whose form nobody chose
constexpr size_t kMostSaved = 25000;  // values at the ends of those, likewise
constexpr char kUnoptimised[] = "default<O0>";

void configure(Compilation& c) {
  if (llvm::Function* kernel = c.module->getFunction(c.kernel.name)) {  // else refused by raise
    set_launch_bounds(*kernel, c.configuration.max_threads, 0);
    const std::string& arguments = c.configuration.specialize_args;
    if (!arguments.empty()) fix_arguments(*kernel, c.kernel, arguments, c.instance->arguments);
  }
  c.traits.most_threads = most_threads(*c.module, c.kernel);
}

void raise_dialect(Compilation& c) {
  if (c.configuration.algebra) mark_algebra(*c.module);
  forget_assignments(*c.module);
  c.traits.checks = checks_of(c.configuration);
  if (c.traits.checks && !c.is_nvptx) c.traits.checks |= kInStep;
  if (c.traits.checks & kCheckSync) track_masks_and_bare_barriers(*c.module);
  raise(*c.module, c.kernel, c.configuration.fuse || c.configuration.contract);
}

void flatten(Compilation& c) {
  c.module = flatten_address_spaces(*c.module, c.machine.createDataLayout(), c.machine.getTargetTriple().str(),
                                    c.kernel.demangled);
}

void lower_calls(Compilation& c) { lower_indirect_calls(*c.module, c.kernel); }

void inline_calls(Compilation& c) {
  if (c.configuration.check_memory) keep_null_accesses(*c.module);
  if (checks_of(c.configuration) & kCheckNan) check_numbers(*c.module);
  inline_into_kernel(*c.module);
}

void begin_locals(Compilation& c) {
  join_split_barriers(*c.module, c.kernel);
  place_kept_registers(*c.module, c.kernel);
  place_dynamic_locals(*c.module);
  if (c.traits.checks & kCheckInit) shadow_locals(*c.module);
  define_locals(*c.module);
}

void loosen_accesses(Compilation& c) {
  take_bools_as_they_are(*c.module);
  if (!c.is_nvptx && !c.configuration.check_memory) allow_any_alignment(*c.module);
}

void end_items(Compilation& c) { return_at_ends(*c.module, c.kernel); }

void specialise(Compilation& c) {
  const bundle::Configuration& configuration = c.configuration;
  if (configuration.specialize_dims) fix_launch(*c.module, bundle::launch_size(*c.instance, configuration));
  if (!configuration.specialize_args.empty()) c.module->getFunction(c.kernel.name)->addFnAttr(kFixedArguments);
  if (!configuration.fast_math.empty()) add_fast_math(*c.module, configuration.fast_math);
}

// Ahead of whatever folds what they are about to nothing, as is the next.
void make_nans_alike(Compilation& c) {
  if (!c.configuration.algebra) canonicalize_nans(*c.module);
}

void guard_arithmetic(Compilation& c) {
  guard_divisions(*c.module, c.configuration.check_memory);
  guard_shifts(*c.module, c.is_nvptx ? Overshift::kClamps : Overshift::kWraps);
}

// Types of stores that the recording lists need not be found again.
void promote(Compilation& c) {
  // Values are followed by --check init, and memory of a work-item's is not.
  const bool keep_locals = c.configuration.passes == kUnoptimised && !(c.traits.checks & kCheckInit);
  if (c.kernel.stores) c.stores = *c.kernel.stores;
  if (c.kernel.stores && keep_locals) return;
  std::unique_ptr<llvm::Module> copy;
  if (keep_locals) copy = llvm::CloneModule(*c.module);
  llvm::Module& promoted = copy ? *copy : *c.module;
  promote_locals(promoted);
  if (!copy) sink_nan_checks(promoted);
  if (!c.kernel.stores) c.stores = ir::store_types(promoted, c.kernel, is_blocks_own);
}

void wrap(Compilation& c) { wrap_indices(*c.module); }

void keep_in_step(Compilation& c) {
  if (tracks(c.traits.checks)) track_synchronisation(*c.module);
  if (c.traits.checks & kCheckSync) track_arrivals(*c.module, c.kernel.name);
  LanesInStep in_step =
      keep_lanes_in_step(*c.module, c.kernel.name, c.kernel.wave_size, c.configuration.form == "fiber");
  c.traits.wave_dimensions = in_step.dimensions;
  c.traits.wave_size = c.kernel.wave_size;
  c.remarks = std::move(in_step.remarks);
}

bool synchronises_grid(llvm::Module& module) {
  return llvm::any_of(module, [](llvm::Function& function) {
    return llvm::any_of(operations_in(function),
                        [](const auto& found) { return found.second.kind == OperationKind::kBarrierGrid; });
  });
}

void yield(Compilation& c) {
  WaitsFor whom = yield_in_waits(*c.module);
  c.traits.waits = synchronises_grid(*c.module) ? kWaitAtGrid : 0;
  if (whom == WaitsFor::kGrid) c.traits.waits |= kWaitByYield;
}

void check_accesses(Compilation& c) {
  if (c.configuration.algebra) refuse_number_control(*c.module, c.kernel.demangled);
  if (c.configuration.check_memory) check_memory(*c.module, c.kernel.name);
  if (tracks(c.traits.checks)) track_accesses(*c.module, c.is_nvptx);
  if (c.traits.checks & kCheckNan) place_number_checks(*c.module);
  // Last: the others would take the shadow for memory of the kernel's.
  if (c.traits.checks & (kCheckInit | kCheckSync)) check_initialisation(*c.module, c.kernel.name, c.traits.checks);
}

void relax_atomics(Compilation& c) { relax_shared_atomics(*c.module); }

void bound_ids(Compilation& c) {
  c.traits.block_strides = mark_global_ids(*c.module);
  c.traits.ordered = depends_on_order(*c.module) || uses_ordered_services(*c.module) || c.traits.checks != 0;
}

size_t count_collectives(llvm::Module& module) {
  size_t count = 0;
  for (llvm::Function& function : module) {
    for (auto& [call, operation] : operations_in(function)) {
      count += is_block_collective(operation) || is_wave_collective(operation);
    }
  }
  return count;
}

bool is_convergence_point(const llvm::Instruction& instruction) {
  std::optional<Operation> operation = operation_at(instruction);
  return operation && is_convergence_point(*operation);
}

// Of the loop form: a loop ends at each convergence point that is next to the one it begins at, and values that are
// used elsewhere are saved there.
size_t count_saved_values(const llvm::Function& kernel) {
  size_t ends = 0, values = 0;
  // From the middle of a block, or from its beginning, to the first convergence points.
  auto count_ends = [&](const llvm::BasicBlock& start, llvm::BasicBlock::const_iterator from) {
    llvm::SmallSetVector<const llvm::BasicBlock*, 16> blocks;
    auto follow = [&](const llvm::BasicBlock& block, llvm::BasicBlock::const_iterator begin) {
      if (std::any_of(begin, block.end(), [](const auto& one) { return is_convergence_point(one); })) {
        ++ends;
      } else {
        for (const llvm::BasicBlock* next : llvm::successors(&block)) blocks.insert(next);
      }
    };
    follow(start, from);
    for (size_t i = 0; i < blocks.size(); ++i) follow(*blocks[i], blocks[i]->begin());
  };
  for (const llvm::BasicBlock& block : kernel) {
    for (const llvm::Instruction& instruction : block) {
      // A variable is memory of the lane's: its address is computed again.
      values += !llvm::isa<llvm::AllocaInst>(instruction) && instruction.isUsedOutsideOfBlock(&block);
      if (is_convergence_point(instruction)) count_ends(block, std::next(instruction.getIterator()));
    }
  }
  return ends * values;
}

bool use_fibers(Compilation& c) {
  const std::string& form = c.configuration.form;
  if (form != "auto" && form != "loop" && form != "fiber") {
    throw Error::of("kernel '{}': '{}' is not a form: auto, loop or fiber", c.kernel.demangled, form);
  }
  const llvm::Function* function = function_for_fibers(*c.module, c.kernel);
  if (form == "loop" && function) {
    throw Error::of(
        "kernel '{}' has a barrier or wave operation in '{}', a function that is recursive: that takes the form fiber",
        c.kernel.demangled, function->getName().str());
  }
  if (form != "auto") return form == "fiber";
  if (function) return true;
  const size_t saved = count_saved_values(*c.module->getFunction(c.kernel.name));
  if (c.collectives <= kMostLoops && saved <= kMostSaved) return false;
  c.remarks.push_back(fmt::format(
      "runs in fibers, since {} loops between its barriers and wave operations, at whose ends {} values are "
      "kept, would take long to compile (--form loop makes them)",
      c.collectives, saved));
  return true;
}

void choose_form(Compilation& c) {
  c.collectives = count_collectives(*c.module);
  c.fibers = use_fibers(c);
  if (c.fibers) lower_convergence_points(*c.module);
}

void call_services(Compilation& c) { lower_services(*c.module); }

void make_work_item(Compilation& c) {
  c.source = subprogram_of(*c.module, c.kernel.name);
  c.item = &make_item(*c.module, c.kernel);
  if (c.source && c.configuration.passes == kUnoptimised) c.item->addFnAttr(kKeepLocals);
}

void lower_variables(Compilation& c) {
  c.traits.shared_static = lower_shared_memory(*c.module, c.kernel);
  c.globals = lower_device_variables(*c.module, c.kernel);
}

void make_block(Compilation& c) {
  c.code = c.fibers ? make_fiber_form(*c.module, *c.item, c.kernel.wave_size)
                    : make_loop_form(*c.module, *c.item, c.kernel, c.traits.most_threads);
  if (!c.fibers) c.item = nullptr;
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
    function.setUWTableKind(llvm::UWTableKind::Async);  // for stack walkers
  }
}

void export_object(Compilation& c) {
  make_code_object(*c.module, c.code, c.kernel, c.traits, c.globals);
  refuse_other_launches(*c.module, *c.code.run_block);
  scope_debug_information(*c.module, c.source);
  set_processor(*c.module, c.machine);
  add_attributes(*c.code.run_block, c.configuration.attributes);
  if (c.fibers) add_attributes(*c.item, c.configuration.attributes);
  ir::verify_module(*c.module, "what kernel '" + c.kernel.demangled + "' was lowered to");
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

void optimise(Compilation& c) {
  const bundle::Configuration& configuration = c.configuration;
  ir::optimize(*c.module, "always-inline,globaldce", &c.machine);
  ir::optimize(*c.module, with_order_kept(configuration.passes), &c.machine, extend_pipelines,
               {configuration.unroll_threshold, {}, configuration.plugins, false, c.gate});
  ir::check_kept(*c.module, kEntrySymbol, configuration.passes);
  c.item = c.code.run_block = nullptr;  // may be gone
}

void compute_in_ring(Compilation& c) {
  if (!c.configuration.algebra) return;
  canonicalize_atomics(*c.module);  // so that updates are operations
  lower_to_algebra(*c.module, c.kernel.demangled);
}

void finish(Compilation& c) {
  canonicalize_atomics(*c.module);
  define_brain_float_functions(*c.module);
  // What profilers and debuggers show.
  if (llvm::Function* block = c.module->getFunction(kBlockFunction)) block->setName(c.kernel.name);
}

constexpr Pass kPasses[] = {
    {"configure", "set_launch_bounds, fix_arguments",
     "Launch bounds are the configuration's, and arguments that it fixes are constants.", configure},
    {"raise", "track_masks_and_bare_barriers, raise",
     "Operations of the vendor's are neutral ones; functions of its device library are expanded.", raise_dialect,
     vendor_operation},
    {"flatten", "flatten_address_spaces", "All pointers are in address space 0; the data layout is the host's.",
     flatten, address_space},
    {"calls", "lower_indirect_calls", "Calls are direct; the address of a function is a number.", lower_calls,
     indirect_call, "services"},
    {"inline", "inline_into_kernel",
     "The kernel is one function, but for recursion and large functions without collectives.", inline_calls,
     call_to_inline, "locals"},
    {"locals", "join_split_barriers, place_kept_registers, place_dynamic_locals, shadow_locals, define_locals",
     "Local variables have fixed sizes and begin as zeros.", begin_locals, undefined_local, "promote"},
    {"accesses", "take_bools_as_they_are, allow_any_alignment", "Accesses promise no more than a GPU asks for.",
     loosen_accesses, promising_access, "promote"},
    {"ends", "return_at_ends", "A work-item that ends early returns from the kernel.", end_items, end_of_item},
    {"launch", "fix_launch, add_fast_math", "The module knows the one launch that it is for, if it is for one.",
     specialise, unfixed_launch},
    {"nans", "canonicalize_nans", "A NaN that an operation makes has the same bits wherever they can be seen.",
     make_nans_alike},
    {"arithmetic", "guard_divisions, guard_shifts", "No division traps; every shift has a result.", guard_arithmetic,
     unguarded_arithmetic, "promote"},
    {"promote", "promote_locals, store_types", "Local variables are values, except at -O0.", promote, local_in_memory,
     "waits"},
    {"indices", "wrap_indices", "Indices into shared and private memory wrap at 32 bits.", wrap},
    {"lanes", "track_synchronisation, track_arrivals, keep_lanes_in_step",
     "Lanes synchronise between two accesses that are a hazard; fences within a block are gone.", keep_in_step,
     block_fence},
    {"waits", "yield_in_waits", "A loop that waits for another work-item yields.", yield, loop_without_yield, "form"},
    {"checks", "refuse_number_control, check_memory, track_accesses, place_number_checks, check_initialisation",
     "With --check, each access is checked first, or made known to the detectors; the ring of --algebra ends every "
     "loop.",
     check_accesses},
    {"atomics", "relax_shared_atomics", "Atomic operations on shared memory are loads and stores in a fixed order.",
     relax_atomics, shared_atomic},
    {"ids", "mark_global_ids", "The sum of a block's and a work-item's id does not overflow.", bound_ids},
    {"form", "function_for_fibers, lower_convergence_points",
     "Collectives are in the kernel only (loop form), or calls of services (fiber form).", choose_form,
     misplaced_collective, "item"},
    {"services", "lower_services", "A service is a call through the context's table.", call_services, service_call},
    {"item", "make_item", "The kernel is mneme.item, a function of context, x, y and z.", make_work_item, open_query},
    {"variables", "lower_shared_memory, lower_device_variables",
     "Variables of shared memory and of the device are addresses out of the context and the code object.",
     lower_variables, block_variable},
    {"block", "make_loop_form, make_fiber_form", "mneme.run_block runs one block; no neutral operation is left.",
     make_block, neutral_operation},
    {"object", "make_code_object, refuse_other_launches",
     "The module exports a code object, and needs nothing of Mneme's.", export_object, missing_export},
    {"optimise", "ir::optimize with extend_pipelines", "The configuration's pipeline has run; loops are vectorised.",
     optimise},
    {"algebra", "lower_to_algebra", "With `algebra`, operations on numbers are calls of functions of the ring.",
     compute_in_ring, number_operation, "finish"},
    {"finish", "canonicalize_atomics, define_brain_float_functions",
     "Functions that LLVM's back end calls are there; the block function has the kernel's name.", finish},
};

void print(const Compilation& compilation, const Pass& pass) {
  std::string text = fmt::format("; IR of '{}' after {}: {}\n", compilation.kernel.demangled, pass.name, pass.holds) +
                     ir::print_module(*compilation.module) + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
}

// `done` have run, the last of them just now.
void verify(const Compilation& compilation, llvm::ArrayRef<Pass> done) {
  const std::string where =
      fmt::format("kernel '{}' after the pass '{}'", compilation.kernel.demangled, done.back().name);
  ir::verify_module(*compilation.module, where);
  for (const Pass& pass : done) {
    auto ends = [&](const Pass& other) { return pass.until && std::string_view(other.name) == pass.until; };
    if (!pass.broken_by || llvm::any_of(done, ends)) continue;
    std::string broken = pass.broken_by(compilation);
    if (broken.empty()) continue;
    throw Error::of("{}: {}, against what holds after '{}': {}", where, broken, pass.name, pass.holds);
  }
}

}  // namespace

Compilation::Compilation(const bundle::KernelInfo& kernel, const bundle::Configuration& configuration,
                         const bundle::InstanceInfo* instance, llvm::TargetMachine& machine,
                         std::unique_ptr<llvm::Module> device)
    : kernel(kernel),
      configuration(configuration),
      instance(instance),
      machine(machine),
      is_nvptx(llvm::Triple(device->getTargetTriple()).isNVPTX()),
      module(std::move(device)),
      verifies(verifies_passes()) {}

llvm::ArrayRef<Pass> passes() { return kPasses; }

void run_passes(Compilation& compilation, llvm::ArrayRef<Pass> passes, const char* last) {
  for (size_t i = 0; i < passes.size(); ++i) {
    passes[i].run(compilation);
    if (compilation.print_after.contains(passes[i].name)) print(compilation, passes[i]);
    if (compilation.verifies) verify(compilation, passes.take_front(i + 1));
    if (last && std::string_view(passes[i].name) == last) return;
  }
}

bool verifies_passes() {
#ifdef MNEME_VERIFY_PASSES
  return true;
#else
  const char* said = std::getenv("MNEME_VERIFY_PASSES");
  return said && std::string_view(said) == "1";
#endif
}

std::vector<PassInfo> pass_list() {
  std::vector<PassInfo> list;
  for (const Pass& pass : kPasses) list.push_back({pass.name, pass.functions, pass.holds});
  return list;
}

}  // namespace mneme::codegen::host
