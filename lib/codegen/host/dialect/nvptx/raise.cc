// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/dialect/nvptx/raise.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "base/error.h"
#include "codegen/host/dialect/amdgpu/raise.h"
#include "codegen/host/dialect/nvptx/ptx/barriers.h"
#include "codegen/host/dialect/nvptx/ptx/waves.h"
#include "codegen/host/dialect/steps.h"
#include "codegen/host/math/library.h"
#include "codegen/host/math/parts.h"
#include "codegen/host/neutral/function_addresses.h"
#include "codegen/host/neutral/neutral.h"
#include "codegen/host/semantics/flush_denormals.h"

namespace mneme::codegen::host {
namespace {

void check_wave_size(const bundle::KernelInfo& kernel) {
  if (kernel.wave_size == kWarpSize) return;
  throw Error::of("kernel '{}' is a CUDA kernel with warps of {} threads, not {}", kernel.demangled, kernel.wave_size,
                  kWarpSize);
}

// Functions that the IR only declares are somebody else's, and there is nobody else here. (libdevice's, should a
// program have been compiled without it, may be known by name.)
void refuse_declarations(const llvm::Module& module, const bundle::KernelInfo& kernel) {
  for (const llvm::Function& function : module) {
    llvm::StringRef name = function.getName();
    if (!function.isDeclaration() || function.isIntrinsic() || function.use_empty() || operation_of(function)) continue;
    if (name == "strlen" || name.starts_with("__nv_")) continue;
    throw Error::of("kernel '{}' calls {}, which the host device does not have", kernel.demangled, name.str());
  }
}

// Its blocks see each other's shared memory; here a block has none but its own.
void refuse_clusters(const llvm::Module& module, const llvm::Function& entry, const bundle::KernelInfo& kernel) {
  const llvm::NamedMDNode* annotations = module.getNamedMetadata("nvvm.annotations");
  uint64_t blocks = 1;
  for (unsigned i = 0; annotations && i < annotations->getNumOperands(); ++i) {
    const llvm::MDNode* node = annotations->getOperand(i);
    if (llvm::mdconst::dyn_extract_or_null<llvm::Function>(node->getOperand(0)) != &entry) continue;
    for (unsigned at = 1; at + 1 < node->getNumOperands(); at += 2) {
      auto* what = llvm::dyn_cast<llvm::MDString>(node->getOperand(at));
      auto* number = llvm::mdconst::dyn_extract<llvm::ConstantInt>(node->getOperand(at + 1));
      if (what && number && what->getString().starts_with("cluster_dim_")) blocks *= number->getZExtValue();
    }
  }
  if (blocks <= 1) return;
  throw Error::of("kernel '{}' is for clusters of {} blocks (__cluster_dims__), which the host device does not have",
                  kernel.demangled, blocks);
}

// Whether the source asks for ids of no dimension but the first: by intrinsics, or in assembly.
bool asks_for_one_dimension(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    llvm::StringRef name = function.getName();
    if (name.starts_with("llvm.nvvm.read.ptx.sreg.tid.") && !name.ends_with(".x") && !function.use_empty())
      return false;
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      auto* assembly = call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
      llvm::StringRef text;
      if (assembly) text = assembly->getAsmString();
      if (text.contains("%tid.y") || text.contains("%tid.z")) return false;
    }
  }
  return true;
}

// libdevice's tables are variables to LLVM, but nobody writes to them, and they have no place in memory that a
// recording could know.
void settle_tables(llvm::Module& module) {
  for (llvm::GlobalVariable& variable : module.globals()) {
    if (!variable.getName().starts_with("__cudart_") || !variable.hasLocalLinkage()) continue;
    variable.setConstant(true);
    variable.setName("mneme.libdevice.table");
  }
}

void raise_math_intrinsics(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) raise_math_intrinsic(*call);
    }
  }
}

}  // namespace

void raise_nvptx(llvm::Module& module, const bundle::KernelInfo& kernel, bool fuse) {
  llvm::Function& entry = kernel_in(module, kernel);
  check_wave_size(kernel);
  refuse_clusters(module, entry, kernel);
  answer_reflection(module, entry);
  take_kernel_arguments(module, entry);
  entry.setCallingConv(llvm::CallingConv::C);
  raise_cooperative_groups(module);
  raise_cuda_services(module, kernel);
  mark_kept(module);
  prune(module, entry);
  if (asks_for_one_dimension(module)) entry.addFnAttr(kOneDimension);
  settle_tables(module);
  classify_memory(module, kernel);
  refuse_declarations(module, kernel);
  // Before there is arithmetic of assembly and intrinsics, which say themselves what they flush. libdevice's is
  // rewritten.
  flush_denormals(module, entry, "__nv_");
  raise_plain_conversions(module);
  raise_libdevice(module, kernel);
  raise_ptx_assembly(module, kernel);
  raise_nvvm_intrinsics(module, kernel);
  begin_named_barriers(module, entry);
  raise_math_intrinsics(module);
  link_math_library(module);
  raise_shared_pointers(module);
  raise_scopes(module);
  if (!fuse) unfuse(module);
  flush_denormals(module, entry);
}

}  // namespace mneme::codegen::host
