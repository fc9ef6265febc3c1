// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes down which process it runs in, and which that process's parent is.
#include <unistd.h>

#include "kernel.h"

void run_block(mneme::codegen::host::BlockContext* context) {
  if (context->group[0] != 0) return;
  unsigned* words = arguments_of(*context).words;
  words[0] = static_cast<unsigned>(::getpid());
  words[1] = static_cast<unsigned>(::getppid());
}

mneme::codegen::host::CodeObject mneme_code_object = make_code_object();
