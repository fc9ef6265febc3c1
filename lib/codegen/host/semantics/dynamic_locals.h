// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

namespace mneme::codegen::host {

// Local arrays whose size is known when they are made (alloca(n)) lie one behind the other in one array of the
// work-item's:
//
//                                                %stack = alloca [65536 x i8]
//                                                %used = alloca i64
//                                                store i64 0, ptr %used
//   %s = call ptr @llvm.stacksave.p0()           %s = load i64, ptr %used        (as a pointer)
//   %a = alloca i8, i64 %n, align 16      ──▶    %a = getelementptr i8, ptr %stack, i64 (%used, aligned)
//                                                store i64 (behind %a), ptr %used
//   call void @llvm.stackrestore.p0(ptr %s)      store i64 %s, ptr %used
//
// They begin as zeros. A work-item that has no room for one more ends the launch. Relies on inlining only for a kernel
// to have one such array: each function that is left has its own.
void place_dynamic_locals(llvm::Module& module);

// Whether it is that array, of which nothing is defined.
bool is_dynamic_stack(const llvm::AllocaInst& local);

}  // namespace mneme::codegen::host
