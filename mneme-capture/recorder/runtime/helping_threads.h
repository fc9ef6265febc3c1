// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "memory/own_thread.h"

namespace mneme::record {

// Threads of the recorder's in the application's process, for as long as one piece of work takes.
class HelpingThreads {
 public:
  HelpingThreads() = default;
  ~HelpingThreads() { join(); }
  HelpingThreads(const HelpingThreads&) = delete;
  HelpingThreads& operator=(const HelpingThreads&) = delete;

  // Calls `work` for shares of [0, count) that are disjoint, beside each other: as many as there are processors to run
  // them, at most kMost, none smaller than `least`. Where no thread is to be had the caller's does it.
  void start(uint64_t count, uint64_t least, const std::function<void(uint64_t begin, uint64_t end)>& work);
  void join();

 private:
  static constexpr uint64_t kMost = 8;  // more are limited by the memory

  std::vector<memory::OwnThread> threads_;
};

// Starts a thread of that kind that ends by itself. False: none is to be had.
bool start_detached(std::function<void()> work);

// What `wait` returns, which such a thread calls after `enter`, and which outlives the call if need be; kStillRunning:
// it takes longer than that. Where no thread is to be had the caller's waits.
int wait_within(std::chrono::milliseconds patience, std::function<void()> enter, std::function<int()> wait);

}  // namespace mneme::record
