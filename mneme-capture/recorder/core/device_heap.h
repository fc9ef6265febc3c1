// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "recorder/core/kernels.h"
#include "recorder/memory/allocations.h"

namespace mneme::record {

// Gives memory to the kernels that mneme-inject has given an allocator (objects/device_heap.h): a heap a device, which
// is recorded as all of its memory is. Thread-safe.
class DeviceHeaps {
 public:
  DeviceHeaps(Runtime& runtime, Allocations& allocations) : runtime_(runtime), allocations_(allocations) {}

  // Before a launch on the device. At the first of the kernel's code there, its variable is made to lead to the heap,
  // which is made at the first of all. Where that cannot be, the vendor's heap serves. Throws what allocate() does.
  void give(const Stub& stub, int device);
  // The same once nothing is recorded any more: what one kernel has allocated, another one may free.
  bool any() const { return any_.load(std::memory_order_relaxed); }
  // The kernel's code allocates from a heap that is recorded.
  bool serves(const Stub& stub, int device) const;
  // The code is no more.
  void forget(void* code);

 private:
  MemoryRange heap_of(int device);

  Runtime& runtime_;
  Allocations& allocations_;
  mutable std::mutex mutex_;
  std::atomic<bool> any_{false};
  std::map<int, MemoryRange> heaps_;             // by device; empty: there is none
  std::map<std::pair<void*, int>, bool> given_;  // whether it was, by code and device
};

}  // namespace mneme::record
