// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

#include <string>
#include <vector>

#include "bundle/format.h"

namespace mneme::codegen::host {

// raise() for what clang makes of HIP.
//
//   call i32 @llvm.amdgcn.workitem.id.x()   ──▶   call i32 @mneme.local.id.x()
//   call i64 @__ockl_get_group_id(i32 0)    ──▶   call i32 @mneme.group.id.x()
//   asm "v_add_u32 $0, $1, $2"              ──▶   add i32 …
//
// Rewrites a kernel's AMDGPU IR to the neutral form, but for address spaces, which it only notes down
// as memory classes (flatten_address_spaces follows). Device-library functions are taken by name where
// the host has an equal, before their insides are looked at; what remains of AMDGPU's intrinsics is
// rewritten one by one. Throws Error naming the first that the host device does not have.
void raise_amdgpu(llvm::Module& module, const bundle::KernelInfo& kernel, bool fuse);

// The parts, each in a file of its own.
void raise_work_item_functions(llvm::Module& module);  // __ockl_get_local_id, …
// __any, __syncthreads_count, grid-wide synchronisation, …
void raise_wave_functions(llvm::Module& module, uint32_t wave_size);
void raise_math_functions(llvm::Module& module);  // __ocml_sin_f32, …
// Those of a module, before that, in whose place others are computed here, with other bits than a GPU's: "pow_f32",
// "llvm.amdgcn.rcp.f32". Sorted.
std::vector<std::string> replaced_functions(const llvm::Module& module);
void raise_image_functions(llvm::Module& module);  // __ockl_image_sample_2D, …
void raise_services(llvm::Module& module);         // printf, malloc, assert, traps, …
// Throws Error when what is left of the device library talks to the host: named for what the user wrote, not for the
// wave operations inside it.
void refuse_host_calls(llvm::Module& module, const bundle::KernelInfo& kernel);
// Loads, stores and updates by descriptors, and loads to shared memory. Those that are not known stay, to be refused.
void raise_buffers(llvm::Module& module, uint32_t wave_size);
// One call of an llvm.amdgcn intrinsic; false: not one that is known.
bool raise_intrinsic(llvm::CallInst& call, const bundle::KernelInfo& kernel);
// Throws Error with the text of inline assembly that is left: what raise_gcn_assembly does not know.
void refuse_inline_assembly(const llvm::Module& module, const bundle::KernelInfo& kernel);
// Conversions between pointers to shared memory and integers.
void raise_shared_pointers(llvm::Module& module);

}  // namespace mneme::codegen::host
