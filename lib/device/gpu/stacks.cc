// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/gpu/stacks.h"

#include "base/error.h"

namespace mneme::device::gpu {

void give_stacks(const Launch& launch, const Stacks& stacks) {
  if (launch.stack_bytes == 0 || stacks.size() >= launch.stack_bytes) return;
  stacks.give(launch.stack_bytes, fmt::format("giving each thread the {} bytes of stack that the application asked for",
                                              launch.stack_bytes));
  size_t there = stacks.size();
  if (there < launch.stack_bytes && launch.warn) {
    launch.warn(
        fmt::format("threads have {} bytes of stack here, and the application asked for {}: kernels that call "
                    "deep may fault",
                    there, launch.stack_bytes));
  }
}

}  // namespace mneme::device::gpu
