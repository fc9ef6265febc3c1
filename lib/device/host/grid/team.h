// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "memory/own_thread.h"

namespace mneme::device::host {

// Threads that begin a piece of work together, once it is known how many are to be had.
class Team {
 public:
  // The caller's thread and `most` - 1 others; fewer where the system gives no more.
  explicit Team(uint64_t most);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  uint64_t size() const { return others_.size() + 1; }

  // work(0) on the caller's thread, work(1) to work(size() - 1) on the others; returns when all have returned. `work`
  // throws nothing. Once.
  void run(const std::function<void(uint64_t)>& work);

 private:
  void begin(const std::function<void(uint64_t)>* work);
  void end();

  const std::function<void(uint64_t)>* work_ = nullptr;
  std::atomic<bool> begun_ = false;
  std::vector<memory::OwnThread> others_;
};

}  // namespace mneme::device::host
