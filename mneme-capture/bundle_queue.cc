// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle_queue.h"

#include <sys/resource.h>

#include <utility>

namespace mneme::capture {
namespace {

constexpr int kNiceness = 10;

}  // namespace

BundleQueue::BundleQueue(bundle::Writer& writer, uint64_t most_bytes)
    : writer_(writer), most_bytes_(most_bytes), thread_([this] { work(); }) {}

BundleQueue::~BundleQueue() {
  resume();
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    jobs_.clear();
  }
  changed_.notify_all();
  thread_.join();
}

void BundleQueue::add(Job job, uint64_t bytes) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || bytes_ == 0 || bytes + bytes_ <= most_bytes_; });
  if (failure_) return;
  bytes_ += bytes;
  jobs_.push_back({std::move(job), bytes});
  changed_.notify_all();
}

bool BundleQueue::failed() const {
  std::lock_guard lock(mutex_);
  return failure_ != nullptr;
}

void BundleQueue::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || (jobs_.empty() && !busy_); });
  if (failure_) std::rethrow_exception(failure_);
}

void BundleQueue::pause() {
  std::lock_guard lock(pausing_);
  paused_until_ = std::chrono::steady_clock::now() + kLongestPause;
}

void BundleQueue::resume() {
  {
    std::lock_guard lock(pausing_);
    paused_until_ = {};
  }
  resumed_.notify_all();
}

void BundleQueue::rest() {
  std::unique_lock lock(pausing_);
  while (std::chrono::steady_clock::now() < paused_until_) resumed_.wait_until(lock, paused_until_);
}

void BundleQueue::work() {
  // Of this thread and those that it starts: the application, and snapshots that it waits for, come first.
  ::setpriority(PRIO_PROCESS, 0, kNiceness);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    {
      auto [job, bytes] = std::move(jobs_.front());
      jobs_.pop_front();
      busy_ = true;
      lock.unlock();
      std::exception_ptr failure;
      try {
        job(writer_);
      } catch (...) {
        failure = std::current_exception();
      }
      job = nullptr;  // gives its memory back before the next is let in
      lock.lock();
      busy_ = false;
      bytes_ -= bytes;
      if (failure) {
        failure_ = failure;
        jobs_.clear();
      }
    }
    changed_.notify_all();
    if (failure_) return;
  }
}

}  // namespace mneme::capture
