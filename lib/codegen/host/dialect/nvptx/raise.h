// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

#include <cstdint>
#include <optional>

#include "bundle/format.h"

namespace mneme::codegen::host {

// raise() for what clang makes of CUDA.
//
//   call i32 @llvm.nvvm.read.ptx.sreg.tid.x()   ──▶   call i32 @mneme.local.id.x()
//   asm "shfl.sync.bfly.b32 $0, $1, …"          ──▶   call i32 @mneme.wave.permute.i32(…)
//
// Functions of libdevice are taken by name where the host has an equal, before their insides are looked at. Most of
// what remains, LLVM's nvvm intrinsics and inline assembly alike, is instructions of PTX in one guise or another, and
// is raised as those (ptx.h).
void raise_nvptx(llvm::Module& module, const bundle::KernelInfo& kernel, bool fuse);

// The parts, each in a file of its own.
// A kernel's structures, passed by value, become references to its argument bytes, copied where it may change them.
void take_kernel_arguments(llvm::Module& module, llvm::Function& kernel);
// The greatest block that the kernel was compiled for, if it says so.
std::optional<uint32_t> launch_bound(const llvm::Function& kernel);
// Answers what libdevice asks of the compilation, and drops the code that then is dead.
void answer_reflection(llvm::Module& module, const llvm::Function& kernel);
void raise_cooperative_groups(llvm::Module& module);
void raise_libdevice(llvm::Module& module, const bundle::KernelInfo& kernel);
void raise_cuda_services(llvm::Module& module, const bundle::KernelInfo& kernel);
// fptosi and fptoui, whose results PTX defines where LLVM does not.
void raise_plain_conversions(llvm::Module& module);
void raise_ptx_assembly(llvm::Module& module, const bundle::KernelInfo& kernel);
void raise_nvvm_intrinsics(llvm::Module& module, const bundle::KernelInfo& kernel);

}  // namespace mneme::codegen::host
