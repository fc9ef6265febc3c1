// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstddef>
#include <set>

#include "recorder/link/protocol.h"
#include "recorder/runtime/runtime.h"

namespace mneme::record {

// Brings the parent what it wants of memory that only this process's calls reach, through memory of the parent's. Not
// thread-safe.
class Delivery {
 public:
  explicit Delivery(Runtime& runtime) : runtime_(runtime) {}  // borrowed
  ~Delivery() { unmap(); }
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;

  // `memory`: the parent's, which takes the place of what it sent before; none: that stays. Throws Error.
  void begin(const Fetch& fetch, Fd memory);
  void finish();  // waits for the oldest that has begun; throws Error
  // In the child of a fork: the memory is between its parent and that one's.
  void leave_to_parent();

 private:
  void map(Fd memory, uint64_t size);
  void unmap();
  void pin(const Fetch& fetch);

  Runtime& runtime_;
  std::byte* memory_ = nullptr;
  uint64_t size_ = 0;
  size_t under_way_ = 0;
  std::set<uint64_t> pinned_;  // offsets
};

}  // namespace mneme::record
