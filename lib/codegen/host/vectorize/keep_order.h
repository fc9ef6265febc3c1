// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/PassManager.h>

#include <string>

namespace mneme::codegen::host {

// The vectoriser makes one access of several to neighbouring fields, `p[i].x` and `p[i].y`, for which it moves loads up
// and stores down. In a loop whose iterations are marked as independent of each other it takes the accesses of one
// iteration for independent, too, and moves a load over a store to the same place. Here an access that must not be
// moved so gets an address that the vectoriser cannot compare with others:
//
//   store …, ptr %p        store …, ptr %p
//   load …, ptr %q   ──▶   load …, ptr (freeze %q)
//
// Relies on the marks of parallel.h. Runs before the vectoriser.
struct KeepOrder : llvm::PassInfoMixin<KeepOrder> {
  static constexpr char kName[] = "mneme-keep-order";
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

// A pipeline written out, with the pass, by its name, before each that believes in the marks as the vectoriser does.
std::string with_order_kept(const std::string& passes);

}  // namespace mneme::codegen::host
