// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Function.h>

#include <map>
#include <optional>

#include "codegen/host/analysis/uniformity.h"

namespace mneme::codegen::host {

// How values of the work-item function change from a work-item to its neighbour in x. Wrapping is not thought of: this
// is for estimates.
class Strides {
 public:
  Strides(llvm::Function& item, const Uniformity& uniformity);

  // By this much (bytes, for a pointer); nothing if that is not known.
  std::optional<int64_t> of(llvm::Value* value);

 private:
  std::optional<int64_t> compute(llvm::Value* value);
  std::optional<int64_t> of_address(llvm::Value* value);

  const llvm::DataLayout& layout_;
  llvm::Value* x_;
  const Uniformity& uniformity_;
  std::map<llvm::Value*, std::optional<int64_t>> known_;
};

}  // namespace mneme::codegen::host
