// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What copying to the GPU takes that goes on while the caller does something else. All that this process has the GPU do
// is done in order, in the context's default stream.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "device/cuda/driver.h"

namespace mneme::device::cuda {

// Numbered marks in what the GPU is to do.
class Marks {
 public:
  Marks() = default;
  ~Marks();
  Marks(const Marks&) = delete;
  Marks& operator=(const Marks&) = delete;

  void set(uint32_t number);             // behind all that it was given so far; in place of the one of that number
  void wait_for(uint32_t number) const;  // until it has done what is ahead of the mark

 private:
  std::map<uint32_t, Event*> events_;
};

// Memory of the process that the GPU reads by itself. What it refuses is copied by the driver as any other memory.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  void add(std::span<std::byte> memory);  // whole pages

 private:
  std::map<std::byte*, bool> pieces_;  // whether it is pinned
};

}  // namespace mneme::device::cuda
