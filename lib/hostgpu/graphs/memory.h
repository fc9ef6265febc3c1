// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "hostgpu/hip.h"
#include "memory/graph_memory.h"
#include "vendor/cuda/graphs.h"

namespace mneme::hostgpu {

// What graphs allocate by nodes or by calls that a stream captures: memory of hipMalloc. Never destroyed.
memory::GraphMemory<vendor::cuda::AllocationNode>& graph_memory();

// Memory that nobody has any more, the graphs' lock held perhaps: it goes with the next call below, which holds no
// lock.
void drop(const std::vector<void*>& memory);
void release_dropped();

}  // namespace mneme::hostgpu
