// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Relocatable device code (-fgpu-rdc): a kernel's code is spread over translation units. So each unit carries its whole
// IR through compilation, and the device link, where they come together, makes the kernels' closures.
#pragma once
#include <llvm/IR/Module.h>

#include <memory>

namespace mneme::inject {

// When a unit is compiled: puts its IR, as it is now, into itself.
void carry_unit(llvm::Module& unit);

// When units are linked: takes their IR out of what they became, and links it. Null: none of them carries any.
// Throws Error when they do not fit together.
std::unique_ptr<llvm::Module> carried_units(llvm::Module& program);

}  // namespace mneme::inject
