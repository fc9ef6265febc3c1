// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the code objects beside this file share: kernels as the code generator would write them, in C++. All are
// variants of one kernel, add_one(unsigned* words, unsigned count), which adds 1 to every word.
#pragma once
#include <cstring>

#include "codegen/host/abi.h"

struct Arguments {
  unsigned* words;
  unsigned count;
};

inline Arguments arguments_of(const mneme::codegen::host::BlockContext& context) {
  Arguments arguments;
  std::memcpy(&arguments, context.arguments, sizeof arguments);
  return arguments;
}

// This block's share of the work.
inline void add_one(const mneme::codegen::host::BlockContext& context) {
  Arguments arguments = arguments_of(context);
  for (unsigned thread = 0; thread < context.block[0]; ++thread) {
    unsigned i = context.group[0] * context.block[0] + thread;
    if (i < arguments.count) ++arguments.words[i];
  }
}

// Each source defines what a block does.
void run_block(mneme::codegen::host::BlockContext* context);

extern "C" __attribute__((visibility("default"))) mneme::codegen::host::CodeObject mneme_code_object;
inline mneme::codegen::host::CodeObject make_code_object() {
  return {mneme::codegen::host::kAbiVersion,      0,    1,  0, run_block, 0, nullptr, 0,
          "add_one(unsigned int*, unsigned int)", 1024, {}, 0, 0,         0};
}
