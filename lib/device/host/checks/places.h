// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Words for findings' sentences.
#pragma once
#include <string>

#include "codegen/host/abi.h"
#include "device/host/launch.h"

namespace mneme::device::host {

// A work-item of a launch: the block's linear number, and its own in the block.
struct ItemNumber {
  uint32_t block = 0, thread = 0;
};
uint32_t number_of_block(const codegen::host::BlockContext& context);
uint64_t shared_size(const codegen::host::BlockContext& context);

// "block (1, 0, 0), thread (5, 0, 0)"; of the context's launch.
std::string text_of(const codegen::host::BlockContext& context, ItemNumber item);
// "kernel 'sum(int*)', block (1, 0, 0), thread (5, 0, 0): reads 4 bytes at 0x400000000010, byte 16 of a 4096-byte
// allocation of device memory, at sum.hip:12". `verb`: "reads".
std::string describe_tracked(const codegen::host::BlockContext& context, uint32_t thread, const char* verb,
                             uint64_t address, uint64_t size, const codegen::host::Site& site);
// " at sum.hip:12"; empty: not known.
std::string at(const codegen::host::Site& site);
// By MemoryAccess: "reads", "writes", "updates".
const char* verb_of(const codegen::host::Site& site);

// Null: not known. Of live memory.
const KnownMemory* known_at(const RunOptions& options, uint64_t address);

}  // namespace mneme::device::host
