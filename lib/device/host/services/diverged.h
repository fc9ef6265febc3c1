// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "codegen/host/abi.h"

namespace mneme::device::host {

// A member of Services (codegen/host/abi.h): a barrier was released that not all threads of the block came to. Says so
// through RunOptions::warn, once a kernel and process.
void diverged(codegen::host::BlockContext* context, uint32_t thread, const uint32_t* points, uint32_t count);

// The sentence that it says, to read after "kernel 'k', block (0, 0, 0): ".
std::string describe_diverged(const uint32_t (&block)[3], std::span<const uint32_t> points);

}  // namespace mneme::device::host
