// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `new` and `delete` of a library that Mneme brings into an application's process; for no one else (OwnHeap.cmake).
#include <new>

#include "memory/own_heap.h"

using mneme::memory::allocate_own;
using mneme::memory::release_own;

namespace {

void* allocate(size_t size, size_t align) {
  void* memory = allocate_own(size, align);
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t size) { return allocate(size, 1); }
void* operator new[](size_t size) { return allocate(size, 1); }
void* operator new(size_t size, std::align_val_t align) { return allocate(size, static_cast<size_t>(align)); }
void* operator new[](size_t size, std::align_val_t align) { return allocate(size, static_cast<size_t>(align)); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return allocate_own(size, 1); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return allocate_own(size, 1); }
void* operator new(size_t size, std::align_val_t align, const std::nothrow_t&) noexcept {
  return allocate_own(size, static_cast<size_t>(align));
}
void* operator new[](size_t size, std::align_val_t align, const std::nothrow_t&) noexcept {
  return allocate_own(size, static_cast<size_t>(align));
}
void operator delete(void* memory) noexcept { release_own(memory); }
void operator delete[](void* memory) noexcept { release_own(memory); }
void operator delete(void* memory, size_t) noexcept { release_own(memory); }
void operator delete[](void* memory, size_t) noexcept { release_own(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release_own(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release_own(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { release_own(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { release_own(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { release_own(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { release_own(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept { release_own(memory); }
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept { release_own(memory); }
