// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Right but for the lowest byte of one word.
#include "kernel.h"

void run_block(mneme::codegen::host::BlockContext* context) {
  add_one(*context);
  Arguments arguments = arguments_of(*context);
  if (context->group[0] == 0) arguments.words[arguments.count - 1] ^= 0x80;
}

mneme::codegen::host::CodeObject mneme_code_object = make_code_object();
