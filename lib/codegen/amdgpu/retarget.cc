// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/amdgpu/retarget.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Analysis/InstructionSimplify.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/Transforms/Utils/Local.h>

#include "base/error.h"

namespace mneme::codegen::amdgpu {
namespace {

constexpr char kCodeObject[] = "amdhsa_code_object_version";
constexpr char kIsaVersion[] = "__oclc_ISA_version", kWave64[] = "__oclc_wavefrontsize64",
               kAbiVersion[] = "__oclc_ABI_version";
constexpr uint32_t kFirstWithNewLaunch = 500;  // version from which on the launch's dimensions are in the arguments
constexpr uint32_t kFirstGeneric = 600;        // that generic processors can be named in
constexpr uint32_t kUsual = 500;               // where the IR does not say

uint32_t recorded_code_object(const llvm::Module& module) {
  auto* flag = llvm::mdconst::extract_or_null<llvm::ConstantInt>(module.getModuleFlag(kCodeObject));
  return flag ? static_cast<uint32_t>(flag->getZExtValue()) : kUsual;
}

std::string recorded_processor(const llvm::Module& module, const bundle::KernelInfo& info) {
  std::string processor = module.getFunction(info.name)->getFnAttribute("target-cpu").getValueAsString().str();
  if (!processor.empty()) return processor;
  size_t at = info.target.rfind("--");
  if (at == std::string::npos) return {};
  return info.target.substr(at + 2, info.target.find(':', at) - at - 2);
}

void add_feature(std::string& list, llvm::StringRef feature) {
  if (feature.empty()) return;
  list += (list.empty() ? "" : ",") + feature.str();
}

// Of the recorded threads unless the configuration's features say something else.
uint32_t wave_size(const bundle::KernelInfo& info, const std::string& features) {
  uint32_t size = info.wave_size == 32 ? 32 : 64;
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(features).split(parts, ',');
  for (llvm::StringRef part : parts) {
    if (part.starts_with("-wavefrontsize")) {
      throw Error::of("{} leaves open how large waves are: name the size, +wavefrontsize32 or +wavefrontsize64",
                      part.str());
    }
    if (part == "+wavefrontsize32") size = 32;
    if (part == "+wavefrontsize64") size = 64;
  }
  return size;
}

// Without those that a goal says by itself: what is in the target's name, and the size of waves.
std::string without_goals_features(llvm::StringRef features) {
  llvm::SmallVector<llvm::StringRef> parts;
  features.split(parts, ',', -1, /*KeepEmpty=*/false);
  std::string kept;
  for (llvm::StringRef part : parts) {
    llvm::StringRef name = part.drop_front();
    if (name != "xnack" && name != "sramecc" && !name.starts_with("wavefrontsize")) add_feature(kept, part);
  }
  return kept;
}

// Whether lanes of a wave work together, other than through memory. LLVM calls most such operations convergent, and a
// few that are made for whole waves or blocks of any size.
bool is_wave_operation(const llvm::Function& intrinsic) {
  switch (intrinsic.getIntrinsicID()) {
    case llvm::Intrinsic::amdgcn_mbcnt_lo:
    case llvm::Intrinsic::amdgcn_mbcnt_hi:
    case llvm::Intrinsic::amdgcn_wavefrontsize:
    case llvm::Intrinsic::amdgcn_ds_append:
    case llvm::Intrinsic::amdgcn_ds_consume:
    case llvm::Intrinsic::amdgcn_global_load_lds:
    case llvm::Intrinsic::amdgcn_s_quadmask:
    case llvm::Intrinsic::amdgcn_s_wqm:
    case llvm::Intrinsic::read_register:
      return true;
    default:
      break;
  }
  constexpr llvm::StringLiteral kForAnySize[] = {"s.barrier", "ds.gws.", "wave.barrier", "sched.",
                                                 "iglp.opt",  "s.sleep", "s.sendmsg"};
  llvm::StringRef name = intrinsic.getName();
  if (!intrinsic.isConvergent() || !name.consume_front("llvm.amdgcn.")) return false;
  return llvm::none_of(kForAnySize, [&](llvm::StringRef known) { return name.starts_with(known); });
}

// By what they work together, for a message; empty: by nothing.
std::string wave_operation(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  if (!call) return {};
  if (const auto* assembly = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand())) {
    // Of assembly nothing is known, but that a comment does nothing; the libraries have one.
    llvm::StringRef text = llvm::StringRef(assembly->getAsmString()).trim();
    bool nothing = text.empty() || (text.starts_with(";") && !text.contains('\n'));
    return nothing ? "" : "inline assembly, as far as is known ('" + text.take_front(60).str() + "')";
  }
  const llvm::Function* callee = call->getCalledFunction();
  return callee && callee->isIntrinsic() && is_wave_operation(*callee) ? callee->getName().str() : std::string();
}

// Those who refer to where the arguments lie of a launch, and do not ask which version it is.
const llvm::Function* user_of_launch_layout(const llvm::Module& module) {
  const llvm::Function* arguments = module.getFunction("llvm.amdgcn.implicitarg.ptr");
  const llvm::GlobalVariable* version = module.getNamedGlobal(kAbiVersion);
  if (!arguments) return nullptr;
  for (const llvm::User* user : arguments->users()) {
    const auto* call = llvm::dyn_cast<llvm::CallInst>(user);
    if (!call) continue;
    const llvm::Function* function = call->getFunction();
    bool asks = version && llvm::any_of(version->users(), [&](const llvm::User* other) {
                  const auto* load = llvm::dyn_cast<llvm::LoadInst>(other);
                  return load && load->getFunction() == function;
                });
    if (!asks) return function;
  }
  return nullptr;
}

// Gives one of the libraries' constants another value. Where it is asked for, the way for other values goes, whatever
// the pipeline is: there may be instructions on it that this processor lacks.
void set_constant(llvm::Module& module, const char* name, uint64_t value) {
  llvm::GlobalVariable* variable = module.getNamedGlobal(name);
  if (!variable || !variable->hasInitializer() || !variable->getValueType()->isIntegerTy()) return;
  auto* known = llvm::dyn_cast<llvm::ConstantInt>(variable->getInitializer());
  auto* wanted = llvm::ConstantInt::get(variable->getValueType(), value);
  if (known == wanted) return;
  variable->setInitializer(llvm::cast<llvm::ConstantInt>(wanted));
  llvm::SmallPtrSet<llvm::Function*, 8> changed;
  for (llvm::User* user : llvm::make_early_inc_range(variable->users())) {
    auto* load = llvm::dyn_cast<llvm::LoadInst>(user);
    if (!load || load->getType() != wanted->getType()) continue;
    changed.insert(load->getFunction());
    llvm::replaceAndRecursivelySimplify(load, wanted);
  }
  for (llvm::Function* function : changed) {
    for (llvm::BasicBlock& block : *function) llvm::ConstantFoldTerminator(&block, /*DeleteDeadConditions=*/true);
    llvm::removeUnreachableBlocks(*function);
  }
}

// What nothing leads to any more, or never did.
void drop_unused(llvm::Module& module) {
  for (bool changed = true; changed;) {
    changed = false;
    for (llvm::Function& function : llvm::make_early_inc_range(module)) {
      function.removeDeadConstantUsers();
      if (!function.hasLocalLinkage() || !function.use_empty()) continue;
      function.eraseFromParent();
      changed = true;
    }
  }
}

constexpr uint64_t kInterrupt = 1;  // s_sendmsg's, in all generations

// Moves within a wave that only generation 9 has: shifts and rotations of all of it, and rows to the next.
bool is_old_move(uint64_t control) {
  return control == 0x130 || control == 0x134 || control == 0x138 || control == 0x13c || control == 0x142 ||
         control == 0x143;
}

constexpr char kOfBuffers[] = "the descriptors of buffers that it uses have another form in each generation";
constexpr char kOfImages[] = "the descriptors of images that it uses have another form in each generation";

// Pointers that are such a descriptor, or hold one.
bool is_buffer(const llvm::Type* type) {
  if (!type->isPtrOrPtrVectorTy()) return false;
  unsigned space = type->getPointerAddressSpace();
  return space >= 7 && space <= 9;
}

bool uses_buffers(const llvm::Instruction& instruction) {
  if (is_buffer(instruction.getType()) ||
      llvm::any_of(instruction.operand_values(), [](const llvm::Value* one) { return is_buffer(one->getType()); })) {
    return true;
  }
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  if (!call) return false;
  llvm::StringRef name = call->getCalledFunction()->getName();
  if (!name.consume_front("llvm.amdgcn.")) return false;
  constexpr llvm::StringLiteral kThose[] = {"raw.",        "struct.",      "s.buffer.",     "make.buffer.rsrc",
                                            "buffer.load", "buffer.store", "buffer.atomic", "tbuffer."};
  return llvm::any_of(kThose, [&](llvm::StringRef one) { return name.starts_with(one); });
}

bool uses_images(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return call && call->getCalledFunction()->getName().starts_with("llvm.amdgcn.image.");
}

// LLVM: GCNSubtarget::supportsWaveWideBPermute(). What goes between generation 9 and later ones has waves of 64.
std::string why_other_reach(const std::string& operation, uint32_t from, uint32_t to) {
  if ((from < 10) == (to < 10)) return {};
  return fmt::format("it moves data across a wave of 64 by {}, which reaches {} there", operation,
                     to < 10 ? "all of one" : "half of one");
}

constexpr char kOtherNumber[] = "{} takes a number there that means something else in each generation";

// The assembler refuses what the goal has no instruction for, and takes what is another one there.
std::string why_foreign(const llvm::InlineAsm& assembly, uint32_t from, uint32_t to) {
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(assembly.getAsmString()).split(lines, '\n');
  for (llvm::StringRef line : lines) {
    auto [instruction, operands] = line.split(';').first.trim().split(' ');
    if (instruction.starts_with("ds_") && instruction.ends_with("permute_b32")) {
      if (std::string why = why_other_reach(instruction.str(), from, to); !why.empty()) return why;
    }
    for (llvm::StringRef start : {"buffer_", "tbuffer_", "s_buffer_"}) {
      // Those without operands are of caches.
      if (instruction.starts_with(start) && operands.contains(',')) return kOfBuffers;
    }
    if (instruction.starts_with("image_")) return kOfImages;
    for (llvm::StringRef one : {"s_waitcnt", "s_getreg_b32", "s_setreg_b32", "s_setreg_imm32_b32", "s_sendmsg"}) {
      // In words it is what it says.
      llvm::StringRef number = one == "s_getreg_b32" ? operands.split(',').second : operands.split(',').first;
      number = number.trim();
      const bool all = one == "s_waitcnt" && (number == "0" || number == "0x0");
      if (instruction == one && !all && !number.empty() && llvm::isDigit(number[0])) {
        return fmt::format(kOtherNumber, one.str());
      }
    }
  }
  return {};
}

// An operation of the recorded generation that is another in the goal's. Empty for others.
std::string why_foreign(const llvm::Instruction& instruction, uint32_t from, uint32_t to) {
  if (from == to) return {};
  if (uses_buffers(instruction)) return kOfBuffers;
  if (uses_images(instruction)) return kOfImages;
  if (const auto* called = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
    if (const auto* assembly = llvm::dyn_cast<llvm::InlineAsm>(called->getCalledOperand())) {
      return why_foreign(*assembly, from, to);
    }
  }
  const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  if (!intrinsic) return {};
  const llvm::IntrinsicInst& call = *intrinsic;
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::amdgcn_update_dpp:
    case llvm::Intrinsic::amdgcn_mov_dpp: {
      unsigned place = call.getIntrinsicID() == llvm::Intrinsic::amdgcn_update_dpp ? 2 : 1;
      uint64_t control = llvm::cast<llvm::ConstantInt>(call.getArgOperand(place))->getZExtValue();
      if (from < 10 && to >= 10 && is_old_move(control)) {
        return fmt::format("it moves data across a wave with the DPP control {:#x}, which only gfx9 has", control);
      }
      return {};
    }
    case llvm::Intrinsic::amdgcn_ds_bpermute:
    case llvm::Intrinsic::amdgcn_ds_permute:
      return why_other_reach(call.getCalledFunction()->getName().str(), from, to);
    case llvm::Intrinsic::amdgcn_s_sendmsg:
      // The libraries' calls of the host.
      if (llvm::cast<llvm::ConstantInt>(call.getArgOperand(0))->equalsInt(kInterrupt)) return {};
      [[fallthrough]];
    case llvm::Intrinsic::amdgcn_s_waitcnt:
    case llvm::Intrinsic::amdgcn_s_getreg:
    case llvm::Intrinsic::amdgcn_s_setreg:
      return fmt::format(kOtherNumber, call.getCalledFunction()->getName().str());
    default:
      return {};
  }
}

}  // namespace

Goal goal_of(const llvm::Module& module, const bundle::KernelInfo& info, const bundle::Configuration& configuration,
             const TargetId& target) {
  Goal goal;
  goal.target = target;
  goal.recorded = recorded_processor(module, info);
  goal.wave_size = wave_size(info, configuration.features);
  if (goal.wave_size == 32 && target.generation < 10) {
    throw Error::of("kernel '{}' is for waves of 32 threads, and {} has only waves of 64", info.demangled,
                    target.processor);
  }
  uint32_t recorded = recorded_code_object(module);
  goal.code_object = configuration.code_object ? configuration.code_object * 100 : recorded;
  if (target.generic) {
    if (configuration.code_object && goal.code_object < kFirstGeneric) {
      throw Error::of("{} can only be named in code objects of version {}, not {}", target.processor,
                      kFirstGeneric / 100, configuration.code_object);
    }
    goal.code_object = std::max(goal.code_object, kFirstGeneric);
  }
  if ((recorded < kFirstWithNewLaunch) != (goal.code_object < kFirstWithNewLaunch)) {
    if (const llvm::Function* user = user_of_launch_layout(module)) {
      throw Error::of(
          "kernel '{}' was compiled for code objects of version {}, and in {} it relies on where these have the "
          "launch's "
          "dimensions: it cannot become one of version {}",
          info.demangled, recorded / 100, user->getName().str(), goal.code_object / 100);
    }
  }
  add_feature(goal.features, target.features());
  if (target.generation >= 10) {
    add_feature(goal.features, goal.wave_size == 32 ? "+wavefrontsize32" : "+wavefrontsize64");
  }
  add_feature(goal.features, without_goals_features(configuration.features));
  return goal;
}

void retarget(llvm::Module& module, const bundle::KernelInfo& info, const Goal& goal) {
  bool other_wave = goal.wave_size != (info.wave_size == 32 ? 32u : 64u);
  bool other = goal.target.processor != goal.recorded;
  if (other_wave) {
    for (const llvm::Function& function : module) {
      for (const llvm::Instruction& instruction : llvm::instructions(function)) {
        std::string operation = wave_operation(instruction);
        if (operation.empty()) continue;
        throw Error::of(
            "kernel '{}' was compiled for waves of {} threads, which work together by {}: it cannot be compiled for "
            "waves of {}",
            info.demangled, info.wave_size, operation, goal.wave_size);
      }
    }
  }
  uint32_t recorded = recorded_code_object(module);
  if (goal.code_object != recorded) {
    module.setModuleFlag(llvm::Module::Error, kCodeObject,
                         llvm::ConstantInt::get(llvm::Type::getInt32Ty(module.getContext()), goal.code_object));
    bool crosses = (recorded < kFirstWithNewLaunch) != (goal.code_object < kFirstWithNewLaunch);
    if (crosses) set_constant(module, kAbiVersion, goal.code_object);
  }
  if (other) set_constant(module, kIsaVersion, goal.target.isa_version);
  if (other_wave) set_constant(module, kWave64, goal.wave_size == 64);
  if (other || other_wave) drop_unused(module);
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    std::string features;
    if (!other) features = without_goals_features(function.getFnAttribute("target-features").getValueAsString());
    add_feature(features, goal.features);
    function.addFnAttr("target-cpu", goal.target.processor);
    function.removeFnAttr("target-features");
    if (!features.empty()) function.addFnAttr("target-features", features);
  }
}

void refuse_foreign_operations(const llvm::Module& module, const bundle::KernelInfo& info, const Goal& goal,
                               const llvm::MCSubtargetInfo& processor) {
  std::optional<TargetId> recorded = parse_target_id(goal.recorded);
  uint32_t to = goal.target.generation, from = recorded ? recorded->generation : to;
  bool has_images = processor.checkFeatures("+image-insts");
  for (const llvm::Function& function : module) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      if (!has_images && uses_images(instruction)) {
        throw Error::of("kernel '{}' cannot be compiled for {}: that GPU has no instructions for images",
                        info.demangled, goal.target.processor);
      }
      std::string why = why_foreign(instruction, from, to);
      if (why.empty()) continue;
      throw Error::of("kernel '{}' was compiled for {} and cannot become one for {}: {}", info.demangled, goal.recorded,
                      goal.target.processor, why);
    }
  }
}

}  // namespace mneme::codegen::amdgpu
