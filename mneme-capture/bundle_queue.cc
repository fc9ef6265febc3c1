// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle_queue.h"

#include <utility>

namespace mneme::capture {

BundleQueue::BundleQueue(bundle::Writer& writer, size_t bound)
    : writer_(writer), bound_(bound), thread_([this] { work(); }) {}

BundleQueue::~BundleQueue() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    jobs_.clear();
  }
  changed_.notify_all();
  thread_.join();
}

void BundleQueue::add(Job job) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || jobs_.size() < bound_; });
  if (failure_) return;
  jobs_.push_back(std::move(job));
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

void BundleQueue::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    {
      Job job = std::move(jobs_.front());
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
