// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/gpu/stacks.h"

#include "base/error.h"

namespace mneme::device::gpu {

void give_stacks(const Launch& launch, Gpu& gpu) {
  if (launch.stack_bytes == 0) return;
  const std::optional<size_t> before = gpu.stack_size();
  if (!before && launch.warn) {
    launch.warn(
        fmt::format("the application asked for {} bytes of stack of each thread, and this runtime cannot be asked",
                    launch.stack_bytes));
  }
  if (!before || *before >= launch.stack_bytes) return;
  gpu.give_stacks(
      launch.stack_bytes,
      fmt::format("giving each thread the {} bytes of stack that the application asked for", launch.stack_bytes)
          .c_str());
  const size_t there = gpu.stack_size().value_or(0);
  if (there < launch.stack_bytes && launch.warn) {
    launch.warn(
        fmt::format("threads have {} bytes of stack here, and the application asked for {}: kernels that call "
                    "deep may fault",
                    there, launch.stack_bytes));
  }
}

}  // namespace mneme::device::gpu
