// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code for launches of one grid and one block only: `--specialize-dims`.
//
//   i < mneme.local.size.x() * n   ──▶   i < 128 * n      and, ahead of all work-items: another launch is refused
//
// The launch is kept as metadata of the module (mneme.launch), which make_item reads when it answers queries.
#pragma once
#include <llvm/IR/Module.h>

#include <optional>

#include "bundle/launch.h"

namespace mneme::codegen::host {

// Notes down that the kernel is launched so and not otherwise. Whoever asks for its dimensions from then on gets
// constants: the loops over work-items, and the kernel itself.
void fix_launch(llvm::Module& module, const bundle::LaunchSize& size);
// Nothing: it is not known.
std::optional<bundle::LaunchSize> fixed_launch(const llvm::Module& module);

// Loads of what is known through AMD's structures about the launch become constants, too.
void answer_implicit_loads(llvm::CallInst& implicit, const bundle::LaunchSize& size);
void answer_dispatch_loads(llvm::CallInst& dispatch, const bundle::LaunchSize& size);

// A block of another launch ends it, with a sentence, before any work-item begins.
void refuse_other_launches(llvm::Module& module, llvm::Function& run_block);

}  // namespace mneme::codegen::host
