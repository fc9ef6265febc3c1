// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Relocatable device code (-fgpu-rdc): a kernel's code is spread over translation units. So each unit carries its whole
// IR through compilation, and the device link, where they come together, makes the kernels' closures: for AMDGPU in
// lld, which links IR; for NVPTX after nvlink (cuda/nvlink.cc), which links cubins, the sections that hold the IR among
// them.
#pragma once
#include <llvm/IR/Module.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"

namespace mneme::inject {

// The section of a cubin that holds units' IR: one after another, each aligned to 16 bytes and padded with zeros,
//   "MNEMEUN1"  u64 size of the bitcode (little-endian)  bitcode
inline constexpr std::string_view kUnitSection = ".mneme.unit";

// When a unit is compiled: puts its IR, as it is now, into itself. It has gone through the passes of `own_passes`.
void carry_unit(llvm::Module& unit, const std::vector<std::string>& own_passes);

// When units are linked as IR: takes what they carry out of what they became, and links it. Null: none of them carries
// any. Throws Error when they do not fit together.
std::unique_ptr<llvm::Module> carried_units(llvm::Module& program);

// Likewise of what a cubin's section holds; null if that is nothing.
std::unique_ptr<llvm::Module> linked_units(llvm::LLVMContext& context, Bytes section);

// The passes that units so linked have gone through, each once.
std::vector<std::string> own_passes_of(const llvm::Module& linked);

}  // namespace mneme::inject
