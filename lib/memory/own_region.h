// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>

namespace mneme::memory {

// Where Mneme's own memory lies in an application's process: apart from what the application maps, whose addresses are
// then those that they would be without Mneme, and the same in every run.
inline constexpr uint64_t kOwnBase = 0x200000000000;
inline constexpr uint64_t kOwnRegionSize = uint64_t{1} << 40;  // bytes of address space; each library has one
inline constexpr int kMostOwnRegions = 16;

// Whether a sanitizer says where memory may lie (ThreadSanitizer, MemorySanitizer): it ends the process where others map
// memory at addresses of their own choice.
bool is_layout_taken();

// As mmap does it for memory without a file, or with `file` from its beginning on: `size` bytes at an address that was
// never given out before, in the region of this library; anywhere, when that has no more room. MAP_FAILED, with errno,
// when there is no memory. Unmapped with munmap. Safe after a fork.
void* map_own(uint64_t size, int protection, int flags, int file = -1);

}  // namespace mneme::memory
