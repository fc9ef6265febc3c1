// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernel.h"

void run_block(mneme::codegen::host::BlockContext* context) { add_one(*context); }

mneme::codegen::host::CodeObject mneme_code_object = make_code_object();
