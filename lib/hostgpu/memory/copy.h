// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstddef>

#include "hostgpu/graphs/calls.h"

namespace mneme::hostgpu {

// Copies as the functions without and with "Async" in their names do them: the first return when the copy is done, the
// others queue it, or let it become part of a graph, unless memory is involved that a device could not reach. Throw
// HipError: pointers that are null, a range that leaves the allocation it begins in, a direction that is none, and what
// a capture forbids.
void copy_and_wait(const std::shared_ptr<Queue>& queue, const LinearCopyCall& call);
void copy_and_wait(const std::shared_ptr<Queue>& queue, const CopyCall& call);
void copy_async(const std::shared_ptr<Queue>& queue, const LinearCopyCall& call);
void copy_async(const std::shared_ptr<Queue>& queue, const CopyCall& call);

// `size` bytes of a registered variable from `offset` on. Throws HipError.
std::byte* symbol_part(const void* symbol, size_t size, size_t offset);

}  // namespace mneme::hostgpu
