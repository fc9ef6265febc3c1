// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Right the first two times that it is executed.
#include "kernel.h"

void run_block(mneme::codegen::host::BlockContext* context) {
  static int executions = 0;
  add_one(*context);
  if (context->group[0] == 0 && ++executions > 2) ++arguments_of(*context).words[0];
}

mneme::codegen::host::CodeObject mneme_code_object = make_code_object();
