// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Right, and reads memory that only some instances have.
#include "kernel.h"

void run_block(mneme::codegen::host::BlockContext* context) {
  constexpr unsigned kFar = 150'000;
  static_cast<void>(static_cast<volatile unsigned*>(arguments_of(*context).words)[kFar]);
  add_one(*context);
}

mneme::codegen::host::CodeObject mneme_code_object = make_code_object();
