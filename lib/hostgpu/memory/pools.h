// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>

namespace mneme::hostgpu {

// Stream-ordered memory counts as used by the device's current pool. Memory that a pool does not know is nobody's.
void count_in_current_pool(const void* memory, uint64_t size);
void count_out_of_pools(const void* memory);

}  // namespace mneme::hostgpu
