// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>

#include "bundle/format.h"
#include "codegen/amdgpu/target_id.h"

namespace mneme::codegen::amdgpu {

// What a code object says in its notes (NT_AMDGPU_METADATA) that its kernel takes of such a processor. Throws Error on
// a malformed code object, and where it has no such kernel.
bundle::Resources resources_in_code_object(Bytes code_object, const std::string& kernel, const TargetId& target,
                                           const std::string& where);

// How many waves a SIMD of the processor can hold at once, where each takes that: vector registers of a thread (with
// the accumulation registers where they are of one file), scalar ones, and bytes of shared memory in blocks of at most
// so many threads. As LLVM reckons it, for waves of that size.
struct Footprint {
  uint32_t registers = 0, scalar_registers = 0, wave_size = 64, block = 1024;
  uint64_t shared = 0;
  bool workgroup_processor = true;  // from generation 10 on: whether blocks may have both of its compute units
};
uint32_t occupancy(const TargetId& target, const Footprint& taken);

}  // namespace mneme::codegen::amdgpu
