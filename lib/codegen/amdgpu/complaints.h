// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/LLVMContext.h>

#include <functional>
#include <string>

#include "base/error.h"

namespace mneme::codegen::amdgpu {

// What LLVM says that it cannot do.
struct Complaint : Error {
  using Error::Error;
};

// Runs a part of LLVM of which errors would end the process: what it cannot do with an instruction, say, in the
// AMDGPU back end. Throws Complaint with the first of LLVM's messages, in one line that is the same every time. After
// one, the context and what is in it can only be thrown away. One at a time in a process.
void with_complaints(llvm::LLVMContext& context, const std::function<void()>& body);

// A message of LLVM's on one line, without the addresses that it prints in place of names.
std::string tidy(const std::string& message);

}  // namespace mneme::codegen::amdgpu
