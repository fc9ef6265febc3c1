// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "bundle/writer.h"

namespace mneme::capture {

// Writes a bundle on a thread of its own, so that compressing one instance overlaps with the application running on
// to the next. At most `bound` jobs wait: add() then waits too, which bounds the memory they hold.
class BundleQueue {
 public:
  using Job = std::function<void(bundle::Writer&)>;

  explicit BundleQueue(bundle::Writer& writer, size_t bound = 2);
  ~BundleQueue();  // drops what waits

  // Jobs run in the order in which they were added; none after one has thrown.
  void add(Job job);
  bool failed() const;
  // Waits for every job; throws what one of them threw.
  void finish();

 private:
  void work();

  bundle::Writer& writer_;
  size_t bound_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool busy_ = false;
  bool stopping_ = false;
  std::exception_ptr failure_;
  std::thread thread_;  // last: it uses everything above
};

}  // namespace mneme::capture
