// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What code compiled to be checked asks before each access (codegen/host/abi.h: Services::check).
#pragma once
#include <string>

#include "codegen/host/abi.h"
#include "device/host/launch.h"

namespace mneme::device::host {

// The service. Takes memory for valid that RunOptions::memory lists, that belongs to the block (shared memory, the
// work-items' own variables, arguments) or to its code (constants), and of the device's heap what kernels have
// allocated.
void check_access(codegen::host::BlockContext* context, uint32_t thread, const void* origin, const void* address,
                  uint64_t size, uint32_t access, uint32_t align);

// Where an address that is not valid is, to follow a comma: "16 bytes after a 4096-byte allocation of device memory".
// `origin`: what it was computed from, or 0.
std::string describe_place(const RunOptions& options, uint64_t origin, uint64_t address, uint64_t size);

}  // namespace mneme::device::host
