// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory that this library itself gives out: arenas at fixed addresses (memory/arena.h), reserved when
// first used, since a recorder that is present gives out memory from the same addresses in its stead.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace mneme::hostgpu {

enum class MemoryKind { kDevice, kPinned, kManaged };

struct Block {
  uint64_t address = 0;
  uint64_t size = 0;  // bytes as asked for
  MemoryKind kind = MemoryKind::kDevice;
  unsigned flags = 0;  // as asked for
  int device = 0;      // the one that was the thread's
};

// All throw HipError, hipErrorOutOfMemory above all; thread-safe.
void* allocate(uint64_t size, MemoryKind kind, unsigned flags = 0, uint64_t align = 256);
bool release(const void* address, bool host);  // false: not the start of an allocation of that side
std::optional<Block> find_block(const void* address);
// The memory that a pointer leads into: an allocation, ours or a recorder's, or what is mapped or registered.
struct Extent {
  uint64_t address = 0;
  uint64_t size = 0;
};
std::optional<Extent> find_memory(const void* pointer);  // pointers.cc
// A recorder's allocation.
std::optional<Extent> find_recorded(const void* pointer);
// All that is there, by address; and what was released last, the latest first.
std::vector<Block> all_blocks();
std::vector<Block> released_blocks();
// Host memory that the application registered (pointers.cc).
std::vector<Block> registered_blocks();
// Throws HipError for null, and for a range that leaves the allocation it begins in, be it ours or a recorder's. Other
// memory is taken on trust.
void check_range(const void* address, uint64_t size);
// Memory that kernels reach only by chance: neither given out nor registered (pointers.cc).
bool is_pageable(const void* address);

// What a pretended device has, and has left; bytes. Memory made through the virtual memory API counts, and the host's
// does not.
uint64_t total_memory();
uint64_t used_memory(int device);
void use_memory(uint64_t size, int device);  // throws HipError(hipErrorOutOfMemory) when there is not so much left
void unuse_memory(uint64_t size, int device);

}  // namespace mneme::hostgpu
