// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Changes no memory.
#include "kernel.h"

void run_block(mneme::codegen::host::BlockContext*) {}

mneme::codegen::host::CodeObject mneme_code_object = make_code_object();
