// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Takes its process with it, in a way that cannot be caught.
#include <csignal>

#include "kernel.h"

void run_block(mneme::codegen::host::BlockContext*) { std::raise(SIGKILL); }

mneme::codegen::host::CodeObject mneme_code_object = make_code_object();
