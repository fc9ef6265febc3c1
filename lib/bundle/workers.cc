// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/workers.h"

#include <algorithm>
#include <atomic>

namespace mneme::bundle {

// Each takes some 20 MiB when packs are made.
unsigned Workers::count() {
  static const unsigned kCount = std::clamp(std::thread::hardware_concurrency(), 1u, 12u);  // which opens a file
  return kCount;
}

Workers::~Workers() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    tasks_.clear();
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::push(std::function<void()> task) {
  {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  if (threads_.size() < count()) threads_.emplace_back([this] { run(); });
  wake_.notify_one();
}

void Workers::run() {
  for (;;) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stop_ || !tasks_.empty(); });
      if (stop_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

void Workers::for_each(size_t items, const std::function<void(size_t)>& function) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  auto work = [&] {
    for (size_t i; (i = next++) < items;) {
      try {
        function(i);
      } catch (...) {
        std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        next = items;
      }
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min<size_t>(count(), items); ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace mneme::bundle
