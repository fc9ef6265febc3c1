// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

namespace mneme::codegen::host {

inline constexpr char kAlgebraMark[] = "mneme.algebra";

// Has a module raised for `algebra` (math/algebra.h): mathematical functions stay calls, and no denormal is flushed.
inline void mark_algebra(llvm::Module& module) { module.getOrInsertNamedMetadata(kAlgebraMark); }
inline bool is_algebra(const llvm::Module& module) { return module.getNamedMetadata(kAlgebraMark) != nullptr; }

}  // namespace mneme::codegen::host
