// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Takes the process with it that serves other instances, too.
#include <unistd.h>

#include <csignal>

#include "kernel.h"

void run_block(mneme::codegen::host::BlockContext*) {
  ::kill(::getppid(), SIGKILL);
  ::pause();
}

mneme::codegen::host::CodeObject mneme_code_object = make_code_object();
