// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All memory that a kernel may use, by name, for code that checks its accesses.
#pragma once
#include <span>
#include <vector>

#include "device/host/launch.h"

namespace mneme::hostgpu {

struct MemoryTable {
  std::vector<device::host::KnownMemory> live;      // by address, disjoint
  std::vector<device::host::KnownMemory> released;  // the latest first
};

// As it is now. `variables`: the kernel's.
MemoryTable known_memory(std::span<const codegen::host::GlobalSlot> variables);

}  // namespace mneme::hostgpu
