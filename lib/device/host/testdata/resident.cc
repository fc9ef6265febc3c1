// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A code object whose blocks wait for each other: each passes its number on to the next, as often as its arguments say.
#include <cstring>

#include "codegen/host/abi.h"

using namespace mneme::codegen::host;

namespace {

struct Arguments {
  unsigned* numbers;  // one a block
  unsigned rounds;
  unsigned fault;  // this block calls abort() in its last round; those behind it are done after the first
};

void run_block(BlockContext* context) {
  Arguments arguments;
  std::memcpy(&arguments, context->arguments, sizeof arguments);
  unsigned me = context->group[0], count = context->grid[0];
  auto* kept = static_cast<unsigned*>(context->shared);
  *kept = me;
  static_cast<unsigned*>(context->frames)[0] = me;
  for (unsigned round = 0; round < arguments.rounds; ++round) {
    arguments.numbers[me] = *kept;
    context->services->converge_grid(context, 0);
    *kept = arguments.numbers[(me + 1) % count];
    if (me == arguments.fault && round + 1 == arguments.rounds) {
      context->services->stop(context, 0, kAborted, nullptr);
    }
    if (me > arguments.fault) return;
    context->services->converge_grid(context, 0);
  }
  arguments.numbers[me] = static_cast<unsigned*>(context->frames)[0] == me ? *kept : ~0u;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) CodeObject mneme_code_object;
CodeObject mneme_code_object = {kAbiVersion, kKeepsFrames, 0,    1,  run_block, 64, nullptr,
                                0,           "resident()", 1024, {}, 0,         0,  0};
