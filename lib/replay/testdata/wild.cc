// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes where there is no memory.
#include "kernel.h"

void run_block(mneme::codegen::host::BlockContext*) { *reinterpret_cast<volatile int*>(0x1230) = 1; }

mneme::codegen::host::CodeObject mneme_code_object = make_code_object();
