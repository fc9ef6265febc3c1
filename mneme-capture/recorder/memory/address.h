// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Addresses as numbers, and as pointers.
#pragma once
#include <cstdint>

namespace mneme::record {

inline uint64_t address_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }
inline void* pointer_to(uint64_t address) { return reinterpret_cast<void*>(address); }

}  // namespace mneme::record
