// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <memory>
#include <string>

#include "device/host/launch.h"
#include "objects/embedded.h"

namespace mneme::hostgpu {

// Whether all code is to check its accesses to memory: $MNEME_CHECK_MEMORY.
bool checks_memory();

// The kernel compiled for the host, from the cache or by the compiler. Throws Error with the compiler's sentence.
std::string object_of(const objects::EmbeddedKernel& kernel, bool check_memory = checks_memory());

// The same, loaded as a copy of its own.
std::unique_ptr<device::host::HostCode> code_of(const objects::EmbeddedKernel& kernel,
                                                bool check_memory = checks_memory());

}  // namespace mneme::hostgpu
