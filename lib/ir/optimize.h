// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Target/TargetMachine.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace mneme::ir {

class PassGate;

// What a target adds to the standard pipelines (default<O2>, …) at their extension points; may be empty.
using Extension = std::function<void(llvm::PassBuilder&)>;

// What is not in a pipeline's text.
struct Tuning {
  std::optional<uint32_t> unroll_threshold = {}, inline_threshold = {};  // opt's options of these names
  std::string plugins = {};                                              // as ir/plugins.h has them
  bool leave_marked = false;  // functions with `optnone` stay as they are, as clang has it
  PassGate* gate = nullptr;   // counts the passes, and skips some (ir/pass_gate.h); null: none does
};

// Runs a pass pipeline in opt's -passes= syntax. `machine` (may be null) informs its cost models.
// Throws Error with LLVM's own message when the text is no pipeline.
void optimize(llvm::Module& module, const std::string& passes, llvm::TargetMachine* machine,
              const Extension& extension = {}, const Tuning& tuning = {});

// After a pipeline of somebody's. Throws Error if it left no valid IR, or removed or renamed what the module is found
// by, or hid it.
void check_kept(const llvm::Module& module, const std::string& name, const std::string& passes);

// Throws what optimize() would throw for the text, without running anything.
void check_pipeline(const std::string& passes, const std::string& plugins = {});

}  // namespace mneme::ir
