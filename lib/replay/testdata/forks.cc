// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Right, unless it can start a process, which would outlive the instance.
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel.h"

void run_block(mneme::codegen::host::BlockContext* context) {
  add_one(*context);
  if (context->group[0] != 0) return;
  long made = ::fork();
  if (made < 0) made = ::syscall(SYS_vfork);
  if (made == 0) ::_exit(0);
  if (made > 0) arguments_of(*context).words[0] ^= 1;
}

mneme::codegen::host::CodeObject mneme_code_object = make_code_object();
