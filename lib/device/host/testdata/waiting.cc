// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A code object whose blocks wait for others by looking again and again: each for the one before it, or behind it.
#include <cstring>

#include "codegen/host/abi.h"

using namespace mneme::codegen::host;

namespace {

struct Arguments {
  unsigned* numbers;  // one a block: how many come before it, with itself
  unsigned back;      // 1: each waits for the block behind it; 2: the first, too, for the word before its own
  unsigned fault;     // this block calls abort(), and others wait for it in vain
};

void run_block(BlockContext* context) {
  Arguments arguments;
  std::memcpy(&arguments, context->arguments, sizeof arguments);
  unsigned me = context->group[0], count = context->grid[0];
  bool first = arguments.back < 2 && me == (arguments.back ? count - 1 : 0);
  unsigned before = 0;
  if (me == arguments.fault) context->services->stop(context, 0, kAborted, nullptr);
  for (bool moved = true; !first; moved = false) {
    before = __atomic_load_n(arguments.numbers + me + (arguments.back == 1 ? 1 : -1), __ATOMIC_ACQUIRE);
    if (before) break;
    context->services->yield(context, 0, moved);
  }
  __atomic_store_n(&arguments.numbers[me], before + 1, __ATOMIC_RELEASE);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) CodeObject mneme_code_object;
CodeObject mneme_code_object = {kAbiVersion, kKeepsNothing, 0,    kWaitByYield, run_block, 0, nullptr,
                                0,           "waiting()",   1024, {},           0,         0, 0};
