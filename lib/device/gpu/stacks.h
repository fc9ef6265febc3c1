// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstddef>
#include <functional>
#include <string>

#include "device/device.h"

namespace mneme::device::gpu {

// The stack of each thread of any kernel, as a vendor's runtime has it: bytes. Both throw Error.
struct Stacks {
  std::function<size_t()> size;
  std::function<void(size_t bytes, const std::string& doing)> give;
};

// Gives threads what the application had, since how deep kernels call is often known to it alone, and never less than
// there is: it stays for later launches. Warns where there is less than that afterwards.
void give_stacks(const Launch& launch, const Stacks& stacks);

}  // namespace mneme::device::gpu
