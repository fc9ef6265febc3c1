// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A code object in the fiber form whose last work-item does what its arguments name.
#include <cstring>

#include "codegen/host/abi.h"

using namespace mneme::codegen::host;

namespace {

struct Arguments {
  unsigned* arrived;  // one a block: how many work-items were there at each other's barrier
  unsigned what;
};

uint64_t barrier(BlockContext* context, uint32_t x) {
  return context->services->converge(context, x, kBlockCount, 1, 1, 0, 0);
}

unsigned endless(BlockContext* context, unsigned depth) {
  volatile unsigned room[8] = {depth};
  if (!context->services) return 0;
  return endless(context, room[0] + 1) + room[depth % 8];
}

void item(BlockContext* context, uint32_t x, uint32_t, uint32_t) {
  Arguments arguments;
  std::memcpy(&arguments, context->arguments, sizeof arguments);
  bool last = x + 1 == context->block[0];
  if (last && arguments.what == 4) return;
  auto arrived = static_cast<unsigned>(barrier(context, x));
  if (last) arguments.arrived[context->group[0]] = arrived;
  if (last && context->group[0] % 2 == 1) {
    switch (arguments.what) {
      case 1:
        endless(context, 0);
        break;
      case 2:
        *reinterpret_cast<volatile int*>(0x1230) = 1;
        break;
      case 3:
        context->services->stop(context, x, kAborted, nullptr);
        break;
    }
  }
  barrier(context, x);
}

void run_block(BlockContext* context) { context->services->run_items(context, 0, item, 64); }

}  // namespace

extern "C" __attribute__((visibility("default"))) CodeObject mneme_code_object;
CodeObject mneme_code_object = {kAbiVersion, kKeepsStacks, 0,    0,  run_block, 0, nullptr,
                                0,           "fibers()",   1024, {}, 0,         0, 0};
