// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "hostgpu/kernels/kept_memory.h"

namespace mneme::hostgpu {

// What a variant has, besides its code.
struct Variant {
  Variant(Kernel& original, VariantFailed failed) : original(original), failed(std::move(failed)) {}

  Kernel& original;  // ready to run, in the variant's place
  const VariantFailed failed;
  std::atomic<bool> is_out{false};  // it has failed where the original does not
  KeepingCost cost;
};

// Runs a kernel that is ready, on the calling thread and the cores that help it, to its end. What it prints goes to the
// application's stdout and stderr. Throws HipError if it fails.
void run_kernel(Kernel& kernel, bundle::Dim3 grid, bundle::Dim3 block, uint32_t shared_bytes, Bytes arguments);

// How many of the kernels that run do nothing but wait for memory that others would have to change.
int waiting_kernels();

}  // namespace mneme::hostgpu
