// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstddef>
#include <cstdint>

#include "hostgpu/kernels/program.h"

namespace mneme::hostgpu {

// How many threads a block of the kernel may have: the device's limit, or less by the kernel's launch bounds. It is
// ready to run, as for the others.
int most_threads(const Kernel& kernel);
// How many bytes of dynamic shared memory its blocks may have, as the application has allowed or from the start.
uint64_t most_dynamic(const Kernel& kernel);
// How many of its blocks one multiprocessor holds at a time. 0: such a block cannot be launched.
int active_blocks(const Kernel& kernel, int block, size_t dynamic);
// How many the device holds: more cannot be launched together.
uint64_t most_cooperative_blocks(const Kernel& kernel, int block, size_t dynamic);

}  // namespace mneme::hostgpu
