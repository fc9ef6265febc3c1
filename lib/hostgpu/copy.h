// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstddef>

#include "hostgpu/hip.h"

namespace mneme::hostgpu {

// One copy, as every hipMemcpy… that is not about rows does it. Throws HipError: pointers that are null, a range that
// leaves the allocation it begins in, a direction that is none.
void copy(void* to, const void* from, size_t size, hipMemcpyKind kind);

}  // namespace mneme::hostgpu
