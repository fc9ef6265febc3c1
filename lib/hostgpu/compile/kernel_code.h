// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <memory>
#include <string>

#include "device/host/launch.h"
#include "hostgpu/compile/kernel_cache.h"
#include "objects/embedded.h"

namespace mneme::hostgpu {

// Whether all code is to check its accesses to memory: $MNEME_CHECK_MEMORY, or $MNEME_CHECK says so.
bool checks_memory();
// The other checks that all code is compiled with, as Configuration::checks: $MNEME_CHECK.
const std::string& wanted_checks();

// As the environment has it: $MNEME_HOST_FORM, $MNEME_CHECK_MEMORY and $MNEME_CHECK.
CompileOptions usual_options();

// The kernel compiled for the host, from the cache or by the compiler. Throws Error with the compiler's sentence.
std::string object_of(const objects::EmbeddedKernel& kernel, const CompileOptions& options = usual_options());

// The same, loaded as a copy of its own.
std::unique_ptr<device::host::HostCode> code_of(const objects::EmbeddedKernel& kernel,
                                                const CompileOptions& options = usual_options());

// The same, with the variables of other code of the same kernel.
std::unique_ptr<device::host::HostCode> code_beside(const device::host::HostCode& other,
                                                    const objects::EmbeddedKernel& kernel,
                                                    const CompileOptions& options);

}  // namespace mneme::hostgpu
