// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory for a block to run in: shared memory, and room for what its work-items keep across barriers. A thread of the
// CPU keeps one from block to block.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mneme::device::host {

class Workspace {
 public:
  static constexpr uint64_t kFramesMost = uint64_t{4} << 30;
  static constexpr uint64_t kFramesLeast = uint64_t{64} << 20;

  static Workspace& of_this_thread();
  // With at most so much room for frames, at least kFramesLeast.
  explicit Workspace(uint64_t frames_most = kFramesMost) : frames_most_(frames_most) {}
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  // `size` bytes, at most kMaxSharedBytes, aligned to a page; far below and above them are pages that fault. The lower
  // half of their address is at least kLeastSharedAddress.
  void* shared(uint64_t size);
  // A reservation of address space, touched only as far as it is used. Throws Error when none can be had.
  void* frames();
  uint64_t frames_size() const { return frames_size_; }

 private:
  void map_shared(uint64_t size);

  uint64_t frames_most_;
  void* reserved_ = nullptr;  // around shared memory
  std::byte* shared_ = nullptr;
  uint64_t shared_mapped_ = 0;
  uint64_t shared_touched_ = 0;
  void* frames_ = nullptr;
  uint64_t frames_size_ = 0;
};

}  // namespace mneme::device::host
