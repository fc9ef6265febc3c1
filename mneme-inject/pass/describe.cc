// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pass/describe.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/Support/Path.h>
#include <llvm/TargetParser/TargetParser.h>
#include <llvm/TargetParser/Triple.h>

#include <memory>

#include "ir/address_variable.h"
#include "pass/layout.h"
#include "pass/pointers.h"
#include "pass/stored_addresses.h"
#include "pass/stores.h"
#include "pass/texture_handles.h"

namespace mneme::inject {
namespace {

// LLVM's numbers of address spaces, the same for AMDGPU and NVPTX.
constexpr unsigned kGenericSpace = 0;
constexpr unsigned kGlobalSpace = 1;
constexpr unsigned kConstantSpace = 4;

bool is_nvptx(const llvm::Module& module) { return llvm::Triple(module.getTargetTriple()).isNVPTX(); }

// NVPTX's backend moves generic variables to global memory.
bool is_in_memory_space(const llvm::GlobalVariable& variable) {
  unsigned space = variable.getAddressSpace();
  return space == kGlobalSpace || space == kConstantSpace ||
         (space == kGenericSpace && is_nvptx(*variable.getParent()));
}

llvm::StringRef attribute(const llvm::Function& function, llvm::StringRef name) {
  return function.getFnAttribute(name).getValueAsString();
}

// With what it was built for besides a processor, as AMD writes it: code for memory that is corrected, or whose pages
// move, does not run where that is otherwise. NVPTX's features say nothing of the kind.
std::string processor_of(const llvm::Function& kernel) {
  std::string text = attribute(kernel, "target-cpu").str();
  if (is_nvptx(*kernel.getParent())) return text;
  llvm::SmallVector<llvm::StringRef> features;
  attribute(kernel, "target-features").split(features, ',');
  for (llvm::StringRef setting : {"sramecc", "xnack"}) {
    for (llvm::StringRef feature : features) {
      if (feature.size() > 1 && feature.drop_front() == setting) text += (":" + setting + feature.take_front()).str();
    }
  }
  return text;
}

uint32_t wave_size_of(const llvm::Function& kernel) {
  if (is_nvptx(*kernel.getParent())) return 32;
  llvm::StringRef features = attribute(kernel, "target-features");
  if (features.contains("+wavefrontsize64")) return 64;
  if (features.contains("+wavefrontsize32")) return 32;
  llvm::AMDGPU::GPUKind kind = llvm::AMDGPU::parseArchAMDGCN(attribute(kernel, "target-cpu"));
  return llvm::AMDGPU::getArchAttrAMDGCN(kind) & llvm::AMDGPU::FEATURE_WAVE32 ? 32 : 64;
}

// HIP's threadIdx and its like are empty objects that only carry a type.
bool is_empty_object(const llvm::GlobalVariable& variable, uint64_t size) {
  return size <= 1 && variable.isConstant() && variable.hasInitializer() &&
         llvm::isa<llvm::UndefValue>(variable.getInitializer());
}

// Variables in device memory that the host or a kernel can fill, or that memory can point to. Most string literals, and
// tables of the device libraries, are part of the code.
bool lies_in_memory(const llvm::GlobalVariable& variable, uint64_t size) {
  if (size == 0 || is_empty_object(variable, size) || !variable.hasName() || !is_in_memory_space(variable) ||
      variable.getName().starts_with("llvm.")) {
    return false;
  }
  if (variable.isExternallyInitialized()) return true;
  if (variable.getAddressSpace() == kConstantSpace) return !variable.isConstant() || ir::holds_functions(variable);
  // NVPTX has no other place for constants. Of those that are the unit's own, objects point to tables of functions.
  return !(is_nvptx(*variable.getParent()) && variable.isConstant() && variable.hasLocalLinkage()) ||
         ir::holds_functions(variable);
}

// The variables whose addresses are in a variable's first contents.
llvm::SmallPtrSet<const llvm::GlobalVariable*, 8> targets_of(const llvm::GlobalVariable& variable) {
  llvm::SmallPtrSet<const llvm::GlobalVariable*, 8> targets;
  llvm::SmallVector<const llvm::Value*, 16> pending(variable.operand_values());
  llvm::SmallPtrSet<const llvm::Value*, 32> seen;
  while (!pending.empty()) {
    const llvm::Value* value = pending.pop_back_val();
    if (!seen.insert(value).second) continue;
    if (auto* target = llvm::dyn_cast<llvm::GlobalVariable>(value)) {
      targets.insert(target);
    } else if (auto* constant = llvm::dyn_cast<llvm::Constant>(value); constant && !llvm::isa<llvm::Function>(value)) {
      pending.append(constant->value_op_begin(), constant->value_op_end());
    }
  }
  return targets;
}

using Variables = llvm::SmallPtrSet<const llvm::GlobalVariable*, 16>;

// Texts and other constants whose addresses the code, as it is in `simplified`, puts into memory.
Variables stored_constants(const llvm::Module& closure, const llvm::Module& simplified) {
  Variables found;
  const llvm::DataLayout& layout = closure.getDataLayout();
  for (const auto& name : constants_in_memory(simplified)) {
    const llvm::GlobalVariable* variable = closure.getNamedGlobal(name.getKey());
    if (!variable || !is_in_memory_space(*variable)) continue;
    uint64_t size = layout.getTypeAllocSize(variable->getValueType());
    if (size > 0 && !is_empty_object(*variable, size)) found.insert(variable);
  }
  return found;
}

// With those that lie in memory, those that they point to (a table's strings), and constants that point to them: they
// have to be where the pointers say, too.
Variables device_variables(const llvm::Module& closure, const llvm::Module& simplified) {
  const llvm::DataLayout& layout = closure.getDataLayout();
  Variables found = stored_constants(closure, simplified);
  for (const llvm::GlobalVariable& variable : closure.globals()) {
    if (lies_in_memory(variable, layout.getTypeAllocSize(variable.getValueType()))) found.insert(&variable);
  }
  for (size_t known = 0; known != found.size();) {
    known = found.size();
    for (const llvm::GlobalVariable& variable : closure.globals()) {
      if (!is_in_memory_space(variable) || !variable.hasName() || variable.getName().starts_with("llvm.")) continue;
      auto targets = targets_of(variable);
      if (found.contains(&variable)) {
        for (const llvm::GlobalVariable* target : targets) {
          if (is_in_memory_space(*target) && target->hasName()) found.insert(target);
        }
      } else if (llvm::any_of(targets, [&](auto* target) { return found.contains(target); })) {
        found.insert(&variable);
      }
    }
  }
  return found;
}

// Kernels that allocate list the device's heap.
bool uses_heap(const llvm::Module& closure) {
  const char* allocate = is_nvptx(closure) ? "malloc" : "__ockl_dm_alloc";
  const char* release = is_nvptx(closure) ? "free" : "__ockl_dm_dealloc";
  return closure.getFunction(allocate) || closure.getFunction(release);
}

std::vector<bundle::Global> globals_of(const llvm::Module& closure, const llvm::Module& simplified) {
  const llvm::DataLayout& layout = closure.getDataLayout();
  std::vector<bundle::Global> globals;
  Variables in_memory = device_variables(closure, simplified);
  for (const llvm::GlobalVariable& variable : closure.globals()) {
    uint64_t size = layout.getTypeAllocSize(variable.getValueType());
    if (!in_memory.contains(&variable)) continue;
    llvm::Align align = layout.getValueOrABITypeAlignment(variable.getAlign(), variable.getValueType());
    globals.push_back({.name = variable.getName().str(),
                       .size = size,
                       .align = static_cast<uint32_t>(align.value()),
                       .constant = variable.isConstant()});
  }
  if (uses_heap(closure)) globals.push_back({.name = bundle::kDeviceHeap, .size = 0, .align = 16, .constant = false});
  if (is_nvptx(closure) && uses_textures(closure))
    globals.push_back({.name = bundle::kTextures, .size = 0, .align = 1, .constant = true});
  return globals;
}

std::vector<std::string> functions_with_address(const llvm::Module& closure) {
  std::vector<std::string> functions;
  for (const llvm::Function& function : closure) {
    if (!function.isIntrinsic() && function.hasAddressTaken()) functions.push_back(function.getName().str());
  }
  return functions;
}

// In relocatable CUDA code a static kernel's name ends in what tells its translation unit apart.
std::string demangled(llvm::StringRef name) {
  for (const char* mark : {"__intern__", "__static__"}) {
    if (name.starts_with("_Z")) name = name.substr(0, name.find(mark));
  }
  return llvm::demangle(name);
}

}  // namespace

bundle::KernelInfo describe(const llvm::Module& closure, llvm::StringRef name, const std::string& bitcode,
                            llvm::StringRef source) {
  const llvm::Function& kernel = *closure.getFunction(name);
  ArgumentLayout layout = argument_layout(kernel);
  std::unique_ptr<llvm::Module> simplified = simplified_copy(closure);
  bundle::KernelInfo info;
  info.id = info.bitcode = digest_of(bitcode);
  info.name = name.str();
  info.demangled = demangled(name);
  info.target = closure.getTargetTriple() + "--" + processor_of(kernel);
  info.wave_size = wave_size_of(kernel);
  info.argument_bytes = layout.bytes;
  info.arguments = std::move(layout.arguments);
  info.globals = globals_of(closure, *simplified);
  info.functions = functions_with_address(closure);
  info.pointers = pointers_followed(*simplified, name, info.arguments);
  if (uses(info, bundle::kTextures)) info.handles = handles_used(*simplified, name, info.arguments);
  info.stores = stores_of(closure, *simplified, info);
  info.source = llvm::sys::path::filename(source).str();
  return info;
}

}  // namespace mneme::inject
