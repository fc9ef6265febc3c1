// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What `new` gives in the libraries that Mneme brings into an application's process (own_new.cc): memory of map_own's.
// In the application's own heap it would decide, at moments that depend on threads and on what is compiled already,
// where the application's allocations lie; and kernels that are given memory of malloc would see other addresses in
// each run.
#pragma once
#include <cstddef>

namespace mneme::memory {

// nullptr: there is no memory. `align` is a power of two. May be called by any thread, and in the child of a fork.
void* allocate_own(size_t size, size_t align);
void release_own(void* memory) noexcept;  // nullptr too

}  // namespace mneme::memory
