// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/OptBisect.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mneme::ir {

// Counts the optional passes of one compilation from 1 on, and skips those behind a limit, as LLVM's -opt-bisect-limit
// does for a whole process. Required passes always run, and are not counted. optimize() makes it the gate of the
// module's context; it outlives that context.
//
//   ir::PassGate gate(configuration.opt_bisect);
//   llvm::LLVMContext context;
//   ir::optimize(module, …, {.gate = &gate});   // passes 1 to n
//   gate.begin_code(); emit(…);                 // passes from n + 1 on
class PassGate : public llvm::OptPassGate {
 public:
  // Without a limit nothing is counted.
  explicit PassGate(std::optional<uint32_t> limit) : limit_(limit) {}

  bool isEnabled() const override { return limit_ && enabled_; }
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef where) override;

  void begin_pipeline() { enabled_ = true; }
  // Code generation is about to begin. Where it does so again, for another form of the same code, its passes have the
  // same numbers.
  void begin_code();
  // The passes so far: "12 InstCombinePass on add", "13 SROAPass on add (skipped)".
  const std::vector<std::string>& passes() const { return passes_; }

 private:
  std::optional<uint32_t> limit_;
  bool enabled_ = false;
  std::optional<size_t> of_pipeline_;  // passes
  std::vector<std::string> passes_;
};

}  // namespace mneme::ir
