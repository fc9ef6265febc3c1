// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes nonsense to every descriptor that it was started with.
#include <unistd.h>

#include <cstring>

#include "kernel.h"

void run_block(mneme::codegen::host::BlockContext*) {
  char nonsense[64];
  std::memset(nonsense, 0xEE, sizeof nonsense);
  for (int fd = 3; fd < 64; ++fd) {
    [[maybe_unused]] ssize_t written = ::write(fd, nonsense, sizeof nonsense);
  }
}

mneme::codegen::host::CodeObject mneme_code_object = make_code_object();
