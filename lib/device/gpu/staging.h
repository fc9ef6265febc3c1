// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What copying to the GPU takes that goes on while the caller does something else.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "device/gpu/gpu.h"

namespace mneme::device::gpu {

class OneMark {
 public:
  OneMark(Gpu& gpu, Gpu::Marking marking) : gpu_(gpu), mark_(gpu.make_mark(marking)) {}
  ~OneMark() { gpu_.drop(mark_); }
  OneMark(const OneMark&) = delete;
  OneMark& operator=(const OneMark&) = delete;
  Gpu::Mark* mark() const { return mark_; }

 private:
  Gpu& gpu_;
  Gpu::Mark* mark_;
};

// Numbered marks in what the GPU is to do.
class Marks {
 public:
  explicit Marks(Gpu& gpu) : gpu_(gpu) {}

  void set(uint32_t number);             // behind all that it was given so far; in place of the one of that number
  void wait_for(uint32_t number) const;  // until it has done what is ahead of the mark

 private:
  Gpu& gpu_;
  std::map<uint32_t, OneMark> marks_;
};

// Memory of the process that the GPU reads by itself. What it refuses is copied by the driver as any other memory.
class PinnedMemory {
 public:
  explicit PinnedMemory(Gpu& gpu) : gpu_(gpu) {}
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  void add(std::span<std::byte> memory);  // whole pages

 private:
  Gpu& gpu_;
  std::map<std::byte*, bool> pieces_;  // whether it is pinned
};

}  // namespace mneme::device::gpu
