// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a thread of the CPU keeps from block to block: shared memory and room for coroutine frames.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mneme::device::host {

class Workspace {
 public:
  static Workspace& of_this_thread();
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  // `size` bytes (at most kMaxSharedBytes) aligned to 128, their end as near as that allows to a page that faults.
  void* shared();
  // A reservation of address space, touched only as far as it is used. Throws Error when none can be had.
  void* frames();
  uint64_t frames_size() const { return frames_size_; }

 private:
  Workspace() = default;
  std::byte* shared_ = nullptr;
  void* frames_ = nullptr;
  uint64_t frames_size_ = 0;
};

}  // namespace mneme::device::host
