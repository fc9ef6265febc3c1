// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ready_memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <system_error>

#include "base/error.h"

namespace mneme::capture {
namespace {

constexpr int kNiceness = 10;
constexpr unsigned kMostThreads = 8;

}  // namespace

ReadyMemory::~ReadyMemory() {
  enough();
  for (std::thread& thread : threads_) thread.join();
}

void ReadyMemory::want(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  wanted_ += bytes;
  if (wanted_ < kWorthwhile || !is_wanted()) return;
  if (threads_.empty()) {
    unsigned count = std::clamp(std::thread::hardware_concurrency() / 4, 1U, kMostThreads);
    try {
      for (unsigned i = 0; i < count; ++i) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // Those do it that are there; else whoever needs the memory.
    }
  }
  changed_.notify_all();
}

void ReadyMemory::want_less(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  wanted_ -= std::min(wanted_, bytes);
}

void ReadyMemory::enough() {
  {
    std::lock_guard lock(mutex_);
    enough_ = true;
  }
  changed_.notify_all();
}

void ReadyMemory::work() {
  ::setpriority(PRIO_PROCESS, 0, kNiceness);  // of this thread
  std::unique_lock lock(mutex_);
  while (!enough_) {
    if (!is_wanted()) {
      changed_.wait(lock);
      continue;
    }
    lock.unlock();
    try {
      pool_->prepare();
    } catch (const Error&) {  // whoever takes it is told
      return enough();
    }
    lock.lock();
  }
}

}  // namespace mneme::capture
