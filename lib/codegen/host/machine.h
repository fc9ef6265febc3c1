// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/Target/TargetMachine.h>

#include <memory>

#include "bundle/format.h"

namespace mneme::codegen::host {

// LLVM's back end for the processor that a configuration names. Throws Error for a configuration that it cannot take.
std::unique_ptr<llvm::TargetMachine> make_machine(const bundle::Configuration& configuration);

}  // namespace mneme::codegen::host
