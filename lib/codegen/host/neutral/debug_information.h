// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Debug information of the kernel's source, on its way to the host. Where the IR has none, nothing happens.
#pragma once
#include <llvm/IR/Module.h>

#include <string>

namespace mneme::codegen::host {

// Makes debug information describe a variable by its address, as in unoptimised code. clang describes each assignment
// of optimised code (llvm.dbg.assign); those are valid within one function, and the compiler cuts functions up.
void forget_assignments(llvm::Module& device);

// Before functions with debug information are cloned from one module to the other.
void prepare_debug_information(const llvm::Module& device, llvm::Module& host);

// The kernel's own; null: it has none.
llvm::DISubprogram* subprogram_of(const llvm::Module& module, const std::string& kernel);

// An attribute of the item: its local variables stay in memory, for a debugger to find them there.
inline constexpr char kKeepLocals[] = "mneme-keep-locals";

// After the forms are made: the functions that run the kernel's code get debug information of their own, in which the
// kernel's is inlined. Without it, what is inlined there would have none.
void scope_debug_information(llvm::Module& module, llvm::DISubprogram* kernel);

}  // namespace mneme::codegen::host
