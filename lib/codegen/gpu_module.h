// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What happens to a kernel's module alike on its way to code for either vendor's GPUs.
#pragma once
#include <llvm/IR/Module.h>

#include "bundle/format.h"

namespace mneme::codegen {

// Throws Error where the configuration asks for what only the host device has.
void refuse_host_options(const bundle::KernelInfo& info, const bundle::Configuration& configuration);

// A kernel that was compiled without optimisation is marked so that nothing optimises it ever, and all that it calls:
// no more. Where it is not, a function that is marked by itself (as some of the device libraries are) is meant to be.
void allow_optimisation(llvm::Module& module, const bundle::KernelInfo& info);

// What the configuration says beside the pipeline. `instance` may be null where nothing is specialised.
void adjust(llvm::Module& module, const bundle::KernelInfo& info, const bundle::Configuration& configuration,
            const bundle::InstanceInfo* instance);

}  // namespace mneme::codegen
