// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "hostgpu/kernels/program.h"

namespace mneme::hostgpu {

// A launch that failed, for `fault`, as it was made.
struct FailedLaunch {
  const Kernel& kernel;
  bundle::Dim3 grid, block;
  uint32_t shared_bytes;
  Bytes arguments;
  device::host::RunOptions options;
};

// What is known of a launch that failed. Where the fault names no thread, the block is run again, alone, in code that
// checks its accesses; memory is no longer what it was, so that may tell nothing new.
device::host::KernelFault explain_fault(const FailedLaunch& launch, const device::host::KernelFault& fault);

}  // namespace mneme::hostgpu
