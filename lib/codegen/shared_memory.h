// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <string>

namespace mneme::codegen {

// How much shared memory a target has, in bytes.
struct SharedMemory {
  uint32_t usual = 0;     // of a block, unless its kernel was told to have more
  uint32_t most = 0;      // of a block at all
  uint32_t reserved = 0;  // what each block takes besides, of `multiprocessor`
  uint32_t multiprocessor = 0;
};

SharedMemory shared_memory_of(const std::string& target);  // "cuda:sm_90a", "hip:gfx90a", "host:x86-64-v3"

}  // namespace mneme::codegen
