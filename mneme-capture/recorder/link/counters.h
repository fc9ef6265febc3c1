// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <atomic>
#include <cstdint>

#include "base/file.h"

namespace mneme::record {

// Numbers that the recorder counts up and the parent reads, in memory that both map: what was counted survives the
// application however it ends, and a launch that is only counted costs no message.
class Counters {
 public:
  static constexpr uint32_t kSlots = 1 << 20;  // untouched ones take no memory
  static constexpr uint32_t kLaunches = 0;     // slot of all launches seen
  static constexpr uint32_t kUnrecorded = 1;   // those of them that came when recording had ended
  static constexpr uint32_t kOfChildren = 2;   // launches of processes that were forked, and are left alone
  static constexpr uint32_t kFirstFree = 3;

  static Fd make();  // of zeros
  explicit Counters(const Fd& memory);
  ~Counters();
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  void set(uint32_t slot, uint64_t value) { slots_[slot].store(value, std::memory_order_relaxed); }
  // Returns the value before. A slot that does not exist counts nothing.
  uint64_t add(uint32_t slot) { return slot < kSlots ? slots_[slot].fetch_add(1, std::memory_order_relaxed) : 0; }
  uint64_t value(uint32_t slot) const { return slot < kSlots ? slots_[slot].load(std::memory_order_relaxed) : 0; }

 private:
  static_assert(std::atomic<uint64_t>::is_always_lock_free);
  std::atomic<uint64_t>* slots_;
};

}  // namespace mneme::record
