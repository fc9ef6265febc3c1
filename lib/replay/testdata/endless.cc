// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Never ends.
#include "kernel.h"

void run_block(mneme::codegen::host::BlockContext* context) {
  auto* words = static_cast<volatile unsigned*>(arguments_of(*context).words);
  for (;;) words[0] = 0;
}

mneme::codegen::host::CodeObject mneme_code_object = make_code_object();
