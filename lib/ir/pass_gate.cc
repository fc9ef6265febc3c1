// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/pass_gate.h"

#include <fmt/format.h>

namespace mneme::ir {

bool PassGate::shouldRunPass(llvm::StringRef pass, llvm::StringRef where) {
  const size_t number = passes_.size() + 1;
  const bool runs = number <= *limit_;
  passes_.push_back(fmt::format("{} {} on {}{}", number, pass.str(), where.str(), runs ? "" : " (skipped)"));
  return runs;
}

void PassGate::begin_code() {
  if (!of_pipeline_) of_pipeline_ = passes_.size();
  passes_.resize(*of_pipeline_);
}

}  // namespace mneme::ir
