// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stacks for fibers, in one reservation of address space, each with a page below it that faults. Only pages that were
// touched take memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace mneme::device::host {

class Stacks {
 public:
  // Room for `most` stacks of `size` bytes, a multiple of the page size. Throws Error when none can be had.
  Stacks(uint32_t most, uint64_t size);
  ~Stacks();
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  // The one with this number, below `most`. Throws Error when the system has no room for another.
  std::span<std::byte> operator[](uint32_t number);
  // Whether using this address means that a stack was full.
  bool guards(const void* address) const;
  uint64_t size() const { return size_; }

  // How many stacks a process should have at most: the system limits its mappings, and each takes two.
  static uint64_t limit();

 private:
  uint64_t stride() const;

  uint32_t most_, opened_ = 0;
  uint64_t size_;
  std::byte* memory_ = nullptr;
};

}  // namespace mneme::device::host
