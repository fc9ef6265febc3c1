// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>

namespace mneme::record {

// Bytes of address space that this process may still take; UINT64_MAX where it has no limit (ulimit -v).
uint64_t addresses_left();

}  // namespace mneme::record
