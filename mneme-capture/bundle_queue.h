// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "bundle/writer.h"

namespace mneme::capture {

// Writes a bundle on a thread of its own, so that compressing one instance overlaps with the application running on
// to the next. What is not written yet holds at most `most_bytes` of memory, or is one job: add() waits until that is
// so.
class BundleQueue {
 public:
  using Job = std::function<void(bundle::Writer&)>;

  BundleQueue(bundle::Writer& writer, uint64_t most_bytes);
  ~BundleQueue();  // drops what waits

  // Jobs run in the order in which they were added; none after one has thrown. `bytes` of memory are the job's until it
  // is done.
  void add(Job job, uint64_t bytes = 0);
  bool failed() const;
  // Waits for every job; throws what one of them threw.
  void finish();

  // The application waits for what needs the processors and the memory that jobs keep busy: they are to stop for that
  // long, but not longer than kLongestPause, since what they hold may be waited for, too.
  void pause();
  void resume();
  void rest();  // for jobs, now and then: waits while they are paused

  static constexpr std::chrono::milliseconds kLongestPause{500};

 private:
  struct Waiting {
    Job job;
    uint64_t bytes;
  };
  void work();

  bundle::Writer& writer_;
  const uint64_t most_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> jobs_;
  uint64_t bytes_ = 0;  // of those that wait and of the one that runs
  bool busy_ = false;
  bool stopping_ = false;
  std::exception_ptr failure_;
  std::mutex pausing_;
  std::condition_variable resumed_;
  std::chrono::steady_clock::time_point paused_until_;
  std::thread thread_;  // last: it uses everything above
};

}  // namespace mneme::capture
