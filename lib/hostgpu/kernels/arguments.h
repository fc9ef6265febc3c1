// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstddef>
#include <vector>

#include "bundle/format.h"

namespace mneme::hostgpu {

// A kernel's arguments in one buffer, laid out as the kernel expects them.
struct PackedArguments {
  std::byte* bytes = nullptr;
  size_t size = 0;
};

// Where each argument lies. Throws HipError for a buffer that ends before the last.
std::vector<void*> argument_list(const bundle::KernelInfo& kernel, const PackedArguments& packed);

}  // namespace mneme::hostgpu
