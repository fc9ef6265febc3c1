// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A code object that faults in the block its arguments name, in the way that they name.
#include <cstring>

#include "codegen/host/abi.h"

using namespace mneme::codegen::host;

namespace {

struct Arguments {
  unsigned group;
  unsigned fault;
};

void run_block(BlockContext* context) {
  // Room for frames is there, all of it.
  auto* frames = static_cast<char*>(context->frames);
  frames[0] = frames[context->frames_size - 1] = 1;
  Arguments arguments;
  std::memcpy(&arguments, context->arguments, sizeof arguments);
  if (context->group[0] != arguments.group) return;
  switch (arguments.fault) {
    case 10:
      *reinterpret_cast<volatile int*>(0x1230) = 1;
      break;
    case 11:
      __builtin_trap();
    default:
      context->fault = arguments.fault;
      context->fault_thread = 37;
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) CodeObject mneme_code_object;
CodeObject mneme_code_object = {kAbiVersion, 1, 0, 0, run_block, 0, nullptr, 0, "faulty()", 1024, {}, 0, 0, 0};
