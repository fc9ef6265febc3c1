// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <atomic>
#include <chrono>
#include <mutex>
#include <shared_mutex>

namespace mneme::record {

// A shared mutex for which those who share it make way: the C library's lets nobody have it alone as long as there is
// always somebody who shares it, as in an application with many threads that launch. They make way only so long: one of
// them may wait, with the mutex shared, for another one that does not have it yet.
class FairSharedMutex {
 public:
  static constexpr std::chrono::milliseconds kPatience{100};

  void lock() {
    std::lock_guard turn(turn_);
    wanted_.store(true, std::memory_order_relaxed);
    mutex_.lock();
    wanted_.store(false, std::memory_order_relaxed);
  }
  void unlock() { mutex_.unlock(); }

  void lock_shared() {
    if (wanted_.load(std::memory_order_relaxed) && turn_.try_lock_for(kPatience)) turn_.unlock();
    mutex_.lock_shared();
  }
  void unlock_shared() { mutex_.unlock_shared(); }

 private:
  std::timed_mutex turn_;  // of who is next to have it alone
  std::atomic<bool> wanted_{false};
  std::shared_mutex mutex_;
};

}  // namespace mneme::record
