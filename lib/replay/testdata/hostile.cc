// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Right, and meanwhile does what a confined process must not: writes to standard output and makes a file.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "kernel.h"

void run_block(mneme::codegen::host::BlockContext* context) {
  add_one(*context);
  if (context->group[0] != 0) return;
  std::puts("the kernel speaks");
  std::fflush(stdout);
  if (const char* path = std::getenv("MNEME_TEST_FORBIDDEN")) {
    int fd = ::open(path, O_WRONLY | O_CREAT, 0666);
    if (fd >= 0) ::close(fd);
  }
}

mneme::codegen::host::CodeObject mneme_code_object = make_code_object();
