// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <shared_mutex>

namespace mneme::record {

// A shared mutex for which those who share it make way: the C library's lets nobody have it alone as long as there is
// always somebody who shares it, as in an application with many threads that launch. They make way only so long: one of
// them may wait, with the mutex shared, for another one that does not have it yet. To share it costs an addition, and a
// subtraction, as long as nobody wants it alone: every launch does it.
class FairSharedMutex {
 public:
  static constexpr std::chrono::milliseconds kPatience{100};

  void lock() {
    std::lock_guard turn(turn_);
    wanted_ = true;
    for (uint32_t sharers = 0; !state_.compare_exchange_weak(sharers, kAlone); sharers = 0) {
      if (sharers != 0) state_.wait(sharers);
    }
    wanted_ = false;
  }
  void unlock() {
    state_ -= kAlone;
    state_.notify_all();
  }

  void lock_shared() {
    if (wanted_ && turn_.try_lock_for(kPatience)) turn_.unlock();
    while (state_.fetch_add(1) & kAlone) {
      leave();
      for (uint32_t state = state_; state & kAlone; state = state_) state_.wait(state);
    }
  }
  void unlock_shared() { leave(); }

 private:
  static constexpr uint32_t kAlone = 1u << 31;

  void leave() {
    // Whoever wants it has said so before looking at the number.
    if ((state_.fetch_sub(1) & ~kAlone) == 1 && wanted_) state_.notify_all();
  }

  std::timed_mutex turn_;  // of who is next to have it alone
  std::atomic<bool> wanted_{false};
  std::atomic<uint32_t> state_{0};  // how many share it, or try to; and kAlone
};

}  // namespace mneme::record
